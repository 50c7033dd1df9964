# A token that ends takes its open connections with it: a worker's, a client's that waits, and a
# stream's of the REST service. Nobody needs to come again to be refused.
source "$(dirname "$0")/lib.sh"
start_hub --http 127.0.0.1:0
while read -r -t 60 line <&"$hub_output"; do
  case $line in "http on "*) api=${line#http on }/api/v1 && break ;; esac
done
fresh() { "$DUNLIN" token --data hub --scope "$1" --expires "$2"; }
fresh worker 12s >short.worker
DUNLIN_TOKEN_FILE=short.worker start_worker w
# It works while the token is good,
expect 0 "$DUNLIN" submit --wait -- true
fresh read 10s >short.reader
fresh worker 10s >short.puller
curl -sN -H "Authorization: Bearer $(<short.reader)" "$api/events?seconds=60" >stream &
stream=$!
started+=("$stream")
DUNLIN_TOKEN_FILE=short.puller "$DUNLIN" store pull nothing --wait 60s >pulled 2>pulled.err &
puller=$!
started+=("$puller")
health() { curl -s -o reply -w '%{http_code}' -H "Authorization: Bearer $(<short.reader)" "$api/health"; }
same "$(health)" 200
# and not after that, with stores and connections that are open.
is_refused() { [ "$(health)" = 401 ]; }
within 30 is_refused
says "$(<reply)" expired
wait "$puller" || true
code=0; wait "$stream" || code=$?
code=0; wait "$worker" || code=$?
[ "$code" != 0 ] || fail "the worker took its end for an order"
says "$(<w.log)" "token expired"
job=$("$DUNLIN" submit --quiet -- true)
same "$("$DUNLIN" status "$job" --json | jq -r .state)" open
stop_hub
