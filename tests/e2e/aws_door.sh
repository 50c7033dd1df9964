# The AWS-compatible door, driven by AWS's own SDK: everyday calls, strangers, a key that may only read,
# and a kill -9 in between.
source "$(dirname "$0")/lib.sh"
source "$here/../engines/aws.sh"
install_from_npm aws_sdk

drive() {
  NODE_NO_WARNINGS=1 timeout 240 node "$BUILD/aws_sdk/door.mjs" "$endpoint" "$@" || fail "the SDK, at $*"
}

start_door
same "$(stat -c %a hub/aws-credentials)" 600
drive sqs dynamo s3 strangers

"$DUNLIN" token --data hub --scope read --aws >reader
use_keys reader
drive reader

# The native side sees the same store.
says "$("$DUNLIN" store info)" sqs.work ddb.things.of-mine s3.bucket-of.mine

kill_hub
start_door
drive still_there remove_all
says "$("$DUNLIN" store info)" "blobs"
same "$("$DUNLIN" store blob list --quiet | grep -c '^aws.s3/' || true)" 0
! grep -q " error " hub.log || fail "an error in the hub's log"
stop_hub

# The same through TLS, where the urls of queues are https.
certificate hub-test
start_door --tls-cert hub-test.pem --tls-key hub-test.key
says "$endpoint" https://
NODE_EXTRA_CA_CERTS=$work/hub-test.pem drive sqs s3 remove_objects
stop_hub

expect 4 "$DUNLIN" hub --data other --aws 0.0.0.0:0
says "$err" --tls-cert
