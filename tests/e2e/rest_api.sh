# The REST API as a new user meets it: curl and jq, from a token to results.
source "$(dirname "$0")/lib.sh"

start_hub --http 127.0.0.1:0
while read -r -t 60 line <&"$hub_output"; do
  case $line in "http on "*) api=${line#http on }/api/v1 && break ;; esac
done
as() { curl -s -H "Authorization: Bearer $(<"$1")" "${@:2}"; }
me() { as hub/token "$@"; }
status() { me -o reply -w '%{http_code}' "$@"; }
post() { status -H 'Content-Type: application/json' "${@:3}" -d "$2" "$api$1"; }
start_worker w1 --slots 2

# Submit, follow, read.
same "$(post /jobs '{"line":"echo {}; echo no >&2; exit {}","values":[0,1,2],"name":"sweep","owner":"ann"}')" 201
job=$(jq -r .job reply)
same "$(jq .tasks reply)" 3
me -N "$api/jobs/$job/events" >events
says "$(<events)" "event: end" '"state":"failed"' '"ok":1' '"failed":2'
last=$(sed -n 's/^id: //p' events | tail -n 1)
same "$(status -H "Last-Event-ID: $last" "$api/jobs/$job/events")" 204
same "$(me "$api/jobs/$job" | jq -c '[.state, .ok, .failed, (.failures | length)]')" '["failed",1,2,2]'
same "$(me "$api/jobs/$job/results?failed=true" | jq -c '[.results[].exit]')" '[1,2]'
same "$(me "$api/jobs/$job/results?max=2" | jq .next)" 1
same "$(me "$api/jobs/$job/results?max=2&after=1" | jq -c '[[.results[].task], .next]')" '[[2],null]'
same "$(me "$api/jobs/$job/tasks/0" | jq -c 'del(.worker) | keys')" "$("$DUNLIN" results "$job" --task 0 --json | jq -c 'del(.worker) | keys')"
same "$(me "$api/jobs/$job/tasks/1/stdout")" 1
same "$(me "$api/jobs/$job/tasks/1/stderr")" no
same "$(status "$api/jobs/$job/tasks/3")" 404
same "$(me "$api/jobs?name=sweep&state=failed" | jq -c '.jobs[]')" "$("$DUNLIN" list --name sweep --json)"
same "$(me "$api/jobs/$job" | jq 'keys')" "$("$DUNLIN" status "$job" --json | jq 'keys')"
same "$(me "$api/jobs/$job/explain")" "$("$DUNLIN" explain "$job" --json)"
same "$(me "$api/workers" | jq -c '.workers[0] | [.worker, .state, .slots]')" '["w1","online",2]'

# Large output is streamed.
post /jobs '{"argv":["head","-c","3000000","/dev/zero"]}' >/dev/null
job=$(jq -r .job reply)
me -N "$api/jobs/$job/events" >/dev/null
same "$(me "$api/jobs/$job/tasks/0/stdout" | wc -c)" 3000000

# The same key is the same job; another one under it is refused.
same "$(post /jobs '{"argv":["true"],"stdin":"x"}' -H 'Idempotency-Key: k1')" 201
job=$(jq -r .job reply)
same "$(post /jobs '{"argv":["true"],"stdin":"x"}' -H 'Idempotency-Key: k1')" 200
same "$(jq -c '[.job, .existed]' reply)" "[\"$job\",true]"
same "$(post /jobs '{"argv":["false"]}' -H 'Idempotency-Key: k1')" 409

# Mistakes are named.
same "$(post /jobs '{"argv":["true"],"colour":"red"}')" 400
says "$(jq -r .detail reply)" colour
same "$(post /jobs '{"argv":["true"')" 400
says "$(jq -r .detail reply)" "line 1, column"
same "$(status -d '{}' "$api/jobs")" 415
same "$(status -X DELETE "$api/jobs")" 405
same "$(status "$api/jobs?max=0")" 400

# Cancel and retry.
stop_worker
post /jobs '{"argv":["true"],"array":{"last":9}}' >/dev/null
job=$(jq -r .job reply)
same "$(me "$api/queues/$(me "$api/queues/none" | jq -r .queue)" | jq .ready)" 0
same "$(post "/jobs/$job/retry" '')" 409
same "$(me -X POST "$api/jobs/$job/cancel" | jq -c '[.cancelled, .state]')" '[true,"cancelled"]'
same "$(me -X POST "$api/jobs/$job/cancel" | jq -c '[.cancelled, .state]')" '[false,"cancelled"]'

# Blobs.
head -c 2000000 /dev/urandom >file
same "$(status -T file "$api/blobs/data/one")" 201
same "$(status -T file "$api/blobs/data/one")" 200
echo other >other
same "$(status -T other "$api/blobs/data/one")" 409
me "$api/blobs/data/one" | cmp - file
says "$(me -I "$api/blobs/data/one")" "content-length: 2000000"
same "$(me "$api/blobs?prefix=data/" | jq -c '[.blobs[] | [.name, .size]]')" '[["data/one",2000000]]'

# Who may only read.
"$DUNLIN" token --data hub --scope read >reader
same "$(as reader -o reply -w '%{http_code}' "$api/blobs/data/one")" 200
for path in "/jobs" "/jobs/$job/cancel" "/jobs/$job/retry"; do
  same "$(as reader -o reply -w '%{http_code}' -X POST "$api$path")" 403
done
same "$(as reader -o reply -w '%{http_code}' -X DELETE "$api/blobs/data/one")" 403
same "$(status -X DELETE "$api/blobs/data/one")" 204
same "$(status "$api/blobs/data/one")" 404

# All that happens, until the service stops; then nobody is cut off.
me -N "$api/events" >all &
watcher=$!
started+=("$watcher")
wait_for all retry
post /jobs '{"argv":["true"],"name":"seen"}' >/dev/null
wait_for all '"name":"seen"'
stop_hub
wait "$watcher" || fail "the stream was cut off"
! grep -q " error " hub.log || fail "an error in the hub's log"
