# The client of AWS's services: tables, blobs and hints against the hub's own door, then against
# stand-ins that others wrote.
source "$(dirname "$0")/lib.sh"
source "$here/../engines/aws.sh"
source "$here/../engines/standins.sh"

# check NAME ENDPOINTS FILTER OPTIONS...: the tests of that filter against those endpoints.
check() {
  DUNLIN_TEST_CLOUD=$2 timeout 600 "$BUILD/engines_test" --gtest_brief=1 --gtest_filter="$3" \
    "${@:4}" >"$1.test.log" 2>&1 || fail "$1: $(grep -m30 -B1 -A12 'Failure\|FAILED\|ERROR' "$1.test.log")"
  grep -q '\[  PASSED  \] [1-9]' "$1.test.log" || fail "$1: no test ran"
}

# All that is about rows and blobs alone. The door's items and keys are smaller than AWS's; and who
# splits large commits is above this client.
whole=Cloud/StoreContract
blobs="$whole.*Blob*:$whole.*Source*"
rows="$whole.*Row*:$whole.*Put*:$whole.*Get*:$whole.*Version*:$whole.*Erase*:$whole.*Counter*"
rows+=":$whole.*Table*:$whole.*Scan*:$whole.*Values*:$whole.*Keys*"
contract="$rows:$blobs:$whole.ARequestThatArrivesTwice*:$whole.OfTwo*"
not_here="$whole.*Commit*:$whole.LargeBatchesOfRows*:$whole.RowsHaveLimits*:$whole.RowsOfMoreBytes*"
parts='CloudTable.*:CloudHints.*:CloudBlobs.*:CloudWhole.*'

start_door
check door "$endpoint" "$contract:$parts-$not_here:$whole.BlobsHaveLimits*"
# Races are not lost at the first try.
check races "$endpoint" "$whole.*Racing*:$whole.*ManyIncrement*:$whole.OfTwo*" --gtest_repeat=5

# AWS's own library signs every request as the client does; and would not, had it another secret.
start_standin signatures "$endpoint"
check signatures "$standin" "CloudTable.*:CloudHints.*:CloudBlobs.*:CloudWhole.IsListed*:$blobs-$whole.BlobsHaveLimits*"
for service in sqs dynamodb s3; do wait_for signatures.log "^$service "; done
! grep -q " is not " signatures.log || fail "$(grep -m3 ' is not ' signatures.log)"
AWS_SECRET_ACCESS_KEY=another expect 4 "$DUNLIN" store blob put b signatures.log \
  --at aws:us-east-1/lab --aws-endpoint "$standin"
wait_for signatures.log " is not "

# Connections are cut at random places: what was answered and what was not looks the same here. Not for
# what many change at once (a repeat is known only while the rows are as they were), nor for what is
# larger than what passes between two cuts.
seed=${SEED:-$((RANDOM * 32768 + RANDOM))}
echo "SEED=$seed"
python3 "$here/../engines/cuts.py" "${endpoint##*:}" "$seed" 15000 300 >cuts.out 2>cuts.log &
started+=($!)
wait_for cuts.out .
check cuts "http://127.0.0.1:$(head -1 cuts.out)" \
  "$contract:CloudTable.*-$not_here:$blobs:$whole.*Counter*:$whole.ARequest*:CloudTable.ACommit*" \
  --gtest_repeat=6
echo "$(grep -c cut cuts.out) cuts"
[ "$(grep -c cut cuts.out)" -ge 50 ] || fail "too few cuts"

# Keys that an instance or a container is given, for a session and soon to be refreshed.
start_standin metadata
(
  unset AWS_ACCESS_KEY_ID AWS_SECRET_ACCESS_KEY AWS_EC2_METADATA_DISABLED
  export AWS_EC2_METADATA_SERVICE_ENDPOINT=$standin
  check instance "$endpoint" 'CloudTable.ACommit*:CloudHints.Queues*:CloudBlobs.AnObject*'
  unset AWS_EC2_METADATA_SERVICE_ENDPOINT
  export AWS_EC2_METADATA_DISABLED=true
  export AWS_CONTAINER_CREDENTIALS_FULL_URI=$standin/container
  export AWS_CONTAINER_AUTHORIZATION_TOKEN=container-token
  check container "$endpoint" 'CloudTable.ACommit*:CloudHints.Queues*:CloudBlobs.AnObject*'
)
! grep -q " error " hub.log || fail "an error in the hub's log"
stop_hub

# Through TLS, with an authority of our own.
certificate hub-test
start_door --tls-cert hub-test.pem --tls-key hub-test.key
says "$endpoint" https://
AWS_CA_BUNDLE=$work/hub-test.pem check tls "$endpoint" 'CloudTable.ACommit*:CloudHints.Come*:CloudBlobs.*'
stop_hub

export AWS_ACCESS_KEY_ID=S3RVER AWS_SECRET_ACCESS_KEY=S3RVER
# What is left out is what they do differently: dynalite has no transactions, which is all commits of
# more than one row; fauxqs sorts like people; local-aws-sqs waits until
# there are as many messages as asked for; s3rver keeps objects as files, and never answers a range
# of an empty one.
start_standin dynalite
check dynalite "$standin" \
  "$rows:CloudTable.*-$blobs:$whole.*Commit*:$whole.LargeBatchesOfRows*:CloudTable.ACommit*:CloudTable.ARepeat*:CloudTable.WhatOne*"
start_standin fauxqs
check fauxqs "$standin" "CloudHints.*:CloudBlobs.*:$blobs-$whole.BlobsAreListed*"
start_standin local-aws-sqs
check local-aws-sqs "$standin" 'CloudHints.*-CloudHints.WhoWaits*'
start_standin s3rver "$work/s3rver"
check s3rver "$standin" \
  "CloudBlobs.*:$blobs-$whole.AnEmptyBlob*:$whole.BlobsAreListed*:$whole.BlobsHaveLimits*"
