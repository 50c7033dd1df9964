# A store in SQS, DynamoDB and S3, as the door of a hub gives them: the contract, what a user meets, and
# an SQS that loses, repeats and reorders.
source "$(dirname "$0")/lib.sh"
source "$here/../engines/aws.sh"
source "$here/../engines/standins.sh"

bad() {
  expect 2 "$DUNLIN" store info --at "$1"
  says "$err" "$2"
}
bad aws: "REGION"
bad aws:us-east-1 "PREFIX"
bad aws:us-east-1/No "PREFIX"
expect 2 "$DUNLIN" store info --at aws:us-east-1/lab --aws-endpoint http://example.org
says "$err" "https:"

start_engine
(
  unset AWS_ACCESS_KEY_ID AWS_SECRET_ACCESS_KEY
  expect 4 "$DUNLIN" store info
  says "$err" "AWS_ACCESS_KEY_ID"
  export AWS_ACCESS_KEY_ID=nobody AWS_SECRET_ACCESS_KEY=nothing
  expect 4 "$DUNLIN" store info
  expect 4 "$DUNLIN" worker --allow-root
)

# Not here: what is as large as the door's items may not be, and commits of more than 100 rows.
whole=Aws/StoreContract
large="$whole.*HaveLimits/*:$whole.APullGivesNoMoreBytes*:$whole.RowsOfMoreBytes*:$whole.LargeBatchesOfRows*"
DUNLIN_TEST_AWS=$DUNLIN_AT "$BUILD/engines_test" --gtest_filter="Aws/*-$large" --gtest_brief=1 \
  >contract.log 2>&1 || fail "$(tail -n 40 contract.log)"

# runs NAME: each task of a job starts once, as nobody is lost, and has one outcome.
runs() {
  start_worker w1 --slots 2
  submit --name "$1" --array 0-1999 -- "echo {#} >>$work/$1.tasks; test {#} != 7 || head -c 100000 /dev/zero"
  ends_as done "$1"
  stop_worker
  same "$(sort -n "$1.tasks" | uniq -c | awk '$1 != 1' | head -3)" ""
  same "$(wc -l <"$1.tasks")" 2000
  same "$("$DUNLIN" results "$1" --json | jq -r .task | sort -n | uniq | wc -l)" 2000
  same "$("$DUNLIN" logs "$1" 7 | wc -c)" 100000
}
runs good
expect 0 "$DUNLIN" store info
says "$out" jobs
for made in "dynamodb  lab-rows" "s3 *lab-blobs" "sqs *lab_work_"; do
  grep -q "^$made" <<<"$out" || fail "$made is not listed: $out"
done
same "$("$DUNLIN" store info --json | jq -c '.made[] | select(.service == "dynamodb")')" \
  '{"service":"dynamodb","name":"lab-rows"}'

# Whoever has waited leaves no queue behind. What is removed is gone, and nothing else.
runs removed
start_worker w1 --slots 1
says "$("$DUNLIN" submit --wait --name waited -- echo waited)" waited
stop_worker
! "$DUNLIN" store info | grep reply || fail "a queue is left"
says "$("$DUNLIN" remove removed)" "removed job"
expect 5 "$DUNLIN" results removed
same "$("$DUNLIN" store blob list jobs/ --quiet | wc -l)" 1
same "$("$DUNLIN" store scan pages --json | jq -r .key | cut -d / -f 1 | sort -u | wc -l)" 2

# The same where SQS is another program, and a careless one.
start_standin fauxqs
python3 "$here/../engines/careless.py" "${standin##*:}" 7 >careless.out 2>careless.log &
started+=($!)
wait_for careless.out .
door=$DUNLIN_AWS_ENDPOINT
export DUNLIN_AWS_ENDPOINT=sqs=http://127.0.0.1:$(<careless.out),dynamodb=$door,s3=$door
runs careless

# Who may not list the queues of an account sees the rest.
cat >forbids.py <<'PY'
import http.server
class Forbids(http.server.BaseHTTPRequestHandler):
    def forbid(self, body):
        self.rfile.read(int(self.headers.get("content-length", 0)))
        self.send_response(403)
        self.end_headers()
        self.wfile.write(body)
    def do_POST(self):
        self.forbid(b'{"__type": "AccessDeniedException", "message": "not for you"}')
    def do_PUT(self):
        self.forbid(b"<Error><Code>AccessDenied</Code><Message>not for you</Message></Error>")
    do_GET = do_PUT
    def do_HEAD(self):
        self.forbid(b"")
server = http.server.HTTPServer(("127.0.0.1", 0), Forbids)
print(server.server_address[1], flush=True)
server.serve_forever()
PY
python3 forbids.py >forbids.out 2>forbids.log &
started+=($!)
wait_for forbids.out .
DUNLIN_AWS_ENDPOINT=sqs=http://127.0.0.1:$(<forbids.out),dynamodb=$door,s3=$door \
  expect 0 "$DUNLIN" store info
says "$out" jobs
says "$err" "not for you"

# Where a permission is missing, it is said where.
forbids=http://127.0.0.1:$(<forbids.out)
export DUNLIN_AWS_ENDPOINT=sqs=$door,dynamodb=$forbids,s3=$door
expect 4 "$DUNLIN" submit -- true
says "$err" "${forbids#http://}" "not for you" policy
expect 4 "$DUNLIN" worker --allow-root
export DUNLIN_AWS_ENDPOINT=sqs=$door,dynamodb=$door,s3=$forbids
expect 4 "$DUNLIN" store blob put b contract.log
says "$err" "${forbids#http://}" policy

# Blobs in a bucket of the user's: the store has its own place there, and takes no more with it.
export DUNLIN_AWS_ENDPOINT=$door
lab=$DUNLIN_AT
export DUNLIN_AT=queue=aws:us-east-1/own,table=aws:us-east-1/own,blobs=s3://lab-blobs/own
expect 5 "$DUNLIN" store info
says "$err" "store init"
expect 5 "$DUNLIN" worker --allow-root
expect 0 "$DUNLIN" store init
runs own
says "$("$DUNLIN" store info)" "lab-blobs/own/"
expect 5 "$DUNLIN" store blob put --at "${DUNLIN_AT/lab-blobs/no-such-bucket}" x contract.log
says "$err" no-such-bucket
expect 5 "$DUNLIN" worker --allow-root --at "${DUNLIN_AT/lab-blobs/no-such-bucket}"
expect 5 "$DUNLIN" store init --at "${DUNLIN_AT/lab-blobs/no-such-bucket}"
says "$err" "make it"
expect 0 "$DUNLIN" store destroy --yes
expect 5 "$DUNLIN" list
export DUNLIN_AT=$lab
same "$("$DUNLIN" logs good 7 | wc -c)" 100000

expect 0 "$DUNLIN" store destroy --yes
expect 5 "$DUNLIN" list

# A region that is none.
unset DUNLIN_AWS_ENDPOINT
expect 3 "$DUNLIN" store info --at aws:nowhere-9/lab
says "$err" nowhere-9
