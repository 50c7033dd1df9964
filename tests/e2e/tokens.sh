# A token allows what its scopes say, until it ends, and only at its own hub.
source "$(dirname "$0")/lib.sh"
start_hub
same "$(stat -c %a hub/token)" 600
expect 0 "$DUNLIN" store push jobs --body x
for scope in read submit worker; do "$DUNLIN" token --data hub --scope $scope >$scope; done
"$DUNLIN" token --data hub --scope read --expires 1s >short

export DUNLIN_TOKEN_FILE=read
expect 0 "$DUNLIN" store depth jobs
expect 4 "$DUNLIN" store push jobs --body x
says "$err" submit
expect 4 "$DUNLIN" store put settings key value
expect 4 "$DUNLIN" store pull jobs

DUNLIN_TOKEN_FILE=submit
expect 0 "$DUNLIN" store push jobs --body x
expect 0 "$DUNLIN" store pull reply.me
expect 4 "$DUNLIN" store pull jobs
says "$err" worker

DUNLIN_TOKEN_FILE=worker
expect 0 "$DUNLIN" store pull jobs

# The verbs, each with the least that it needs.
start_worker w
DUNLIN_TOKEN_FILE=submit
expect 0 "$DUNLIN" submit --wait --key once --name seen -- echo seen
expect 0 "$DUNLIN" submit --quiet --requires nowhere --name stuck -- true
expect 0 "$DUNLIN" submit --quiet --after stuck --name later -- true
DUNLIN_TOKEN_FILE=read
for verb in "status seen" "list" "results seen" "logs seen 0" "wait seen" "explain stuck" "explain later" pool history; do
  expect 0 "$DUNLIN" $verb
done
for verb in "cancel stuck" "remove seen" infra "tenant list" "store keep --failed 1d"; do
  expect 4 "$DUNLIN" $verb
done
DUNLIN_TOKEN_FILE=submit
expect 0 "$DUNLIN" cancel stuck
expect 0 "$DUNLIN" remove seen
DUNLIN_TOKEN_FILE=worker
stop_worker

# What is not theirs, nobody writes: secrets of tenants are not even read.
tenant_secret=$(DUNLIN_TOKEN_FILE=hub/token "$DUNLIN" tenant add physics --quiet)
hash=$(printf %s "$tenant_secret" | sha256sum | cut -d ' ' -f 1)
for scope in read submit worker; do
  DUNLIN_TOKEN_FILE=$scope
  for row in "tascaas signing" "tascaas secret/$hash" "tascaas tenant/physics" "aws.sqs q" "s3.b k" "_owned ann/1"; do
    expect 4 "$DUNLIN" store put $row forged
    expect 4 "$DUNLIN" store erase $row
    case $row in tascaas*) expect 4 "$DUNLIN" store get $row ;; esac
  done
  expect 4 "$DUNLIN" store scan tascaas
  expect 4 "$DUNLIN" infra
done
DUNLIN_TOKEN_FILE=submit
for row in "workers forged" "outputs 1/000000000/1/out" "ledgers 1" "retention rule"; do
  expect 4 "$DUNLIN" store put $row forged
done
expect 4 "$DUNLIN" store erase jobs 1

# Everything else is refused: changed, expired, of another hub.
tr 'a-f0-9' 'b-g1-9a' <worker >changed
expect 4 "$DUNLIN" store info --token-file changed
refused() { ! "$DUNLIN" store info --token-file short; }
within 60 refused
expect 4 "$DUNLIN" store info --token-file short
says "$err" expired
stop_hub
rm hub/token
start_hub
expect 4 "$DUNLIN" store info --token-file "$work/worker"
