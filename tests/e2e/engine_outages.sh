# Servers that are away, were never there, or are not what they should be: what commands and workers
# say, and how soon.
source "$(dirname "$0")/lib.sh"
source "$here/../engines/aws.sh"

# took COMMAND...: in $took, how many ms it needs, whatever comes of it.
took() {
  local begun=${EPOCHREALTIME/./}
  "$@" >took.out 2>took.err || true
  took=$(((${EPOCHREALTIME/./} - begun) / 1000))
}
less_than() { [ "$1" -lt "$2" ] || fail "$1 ms, not less than $2: $(<took.out) $(<took.err)"; }

shut=$(free_ports 1)
hub_port=$(free_ports 1)
start_door --listen "127.0.0.1:$hub_port"

# Without RabbitMQ the rows are looked through each second. The quickest of three counts, as the machine
# may be busy; each of them would wait five seconds for RabbitMQ otherwise.
mixed=queue=amqp://guest:guest@127.0.0.1:$shut/,table=$DUNLIN_AT
start_worker mixed --at "$mixed" --slots 1
quickest=60000
for _ in 1 2 3; do
  took "$DUNLIN" submit --at "$mixed" --wait --quiet -- true
  if [ "$took" -lt "$quickest" ]; then quickest=$took; fi
done
less_than "$quickest" 4500
stop_worker

# Nobody at that port: said at once, and by its name.
took "$DUNLIN" status --at aws:eu-north-1/lab --aws-endpoint "http://127.0.0.1:$shut"
less_than "$took" 4500
says "$(<took.err)" "127.0.0.1:$shut"
expect 3 "$DUNLIN" store init --at aws:eu-north-1/lab --aws-endpoint "http://127.0.0.1:$shut"

# Services that are named one by one are all of those that the store uses.
expect 2 "$DUNLIN" store init --at aws:eu-north-1/lab --aws-endpoint "sqs=$endpoint"
says "$err" "--aws-endpoint" "dynamodb="
expect 2 "$DUNLIN" store info --at aws:eu-north-1/lab --aws-endpoint "sqs=$endpoint,dynamodb=$endpoint"
says "$err" "s3="
expect 2 "$DUNLIN" worker --allow-root --at aws:eu-north-1/lab --aws-endpoint "s3=$endpoint"
expect 2 "$DUNLIN" store info --at "queue=aws:eu-north-1/lab,table=$DUNLIN_AT" --aws-endpoint "s3=$endpoint"
says "$err" "sqs="
expect 0 "$DUNLIN" store info --at "queue=aws:eu-north-1/lab,table=$DUNLIN_AT" --aws-endpoint "sqs=$endpoint"

# A DynamoDB without transactions is found out by `store init`.
python3 - >poor.out <<'PY' &
import http.server, json
class Poor(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    def log_message(self, *_): pass
    def do_POST(self):
        self.rfile.read(int(self.headers["content-length"]))
        known = self.headers["x-amz-target"].endswith("DescribeTable")
        keys = [{"AttributeName": "t", "KeyType": "HASH"}, {"AttributeName": "k", "KeyType": "RANGE"}]
        types = [{"AttributeName": name, "AttributeType": "S"} for name in "tk"]
        body = json.dumps(
            {"Table": {"TableStatus": "ACTIVE", "KeySchema": keys, "AttributeDefinitions": types}}
            if known else {"__type": "com.amazon.coral.service#UnknownOperationException"}).encode()
        self.send_response(200 if known else 400)
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)
server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Poor)
print(server.server_address[1], flush=True)
server.serve_forever()
PY
started+=("$!")
wait_for poor.out '[0-9]'
poor=sqs=$endpoint,dynamodb=http://127.0.0.1:$(<poor.out),s3=$endpoint
expect 2 "$DUNLIN" store init --at aws:eu-north-1/poor --aws-endpoint "$poor"
says "$err" "TransactWriteItems" "127.0.0.1:$(<poor.out)"

# Workers say at once that their store is away, and that it is back.
expect 0 "$DUNLIN" store init --at aws:eu-north-1/lab --aws-endpoint "$endpoint"
start_worker native --slots 1
start_worker cloud --at aws:eu-north-1/lab --aws-endpoint "$endpoint" --slots 1
kill_hub
for name in native cloud; do within 20 grep "warning.*127.0.0.1.*trying again until it is back" $name.log; done
start_door --listen "127.0.0.1:$hub_port"
for name in native cloud; do
  within 30 grep "127.0.0.1.* answers again after" $name.log
  same "$(grep -c "trying again until it is back" $name.log)" "$(grep -c "answers again" $name.log)"
done
