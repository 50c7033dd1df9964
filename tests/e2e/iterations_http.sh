# Iterative jobs over HTTP, with curl alone: submitted, asked for by programs that do not use
# descriptor 3, one of which is killed, as is the hub, and seen to the end.
source "$(dirname "$0")/lib.sh"
pi=$(cd "$here/../../examples/pi" && pwd)

start_hub --http "127.0.0.1:$(free_ports 1)"
while read -r -t 60 line <&"$hub_output"; do
  case $line in "http on "*) api=${line#http on }/api/v1 && break ;; esac
done
me() { curl -s -H "Authorization: Bearer $(<hub/token)" "$@"; }
# post PATH JSON: prints the status, leaves the answer in ./reply.
post() { me -o reply -w '%{http_code}' -H 'Content-Type: application/json' -d "$2" "$api$1"; }
# submit_json FIELDS [LINE]: a job of pi_http.sh, whose partitions say where they run. Sets $job.
submit_json() {
  local line=${2:-"echo \$\$ >$work/pid.\$DUNLIN_TASK.\$DUNLIN_ATTEMPT; exec $pi/pi_http.sh"}
  same "$(post /jobs "$(jq -nc --arg line "$line" --arg api "$api" --arg token "$work/hub/token" \
    "{line: \$line, env: {API: \$api, TOKEN_FILE: \$token}} + {$1}")")" 201
  job=$(jq -r .job reply)
}
# What it wrote to standard error says which iterations it did.
check() {
  "$DUNLIN" results "$1" --json | jq -c '.stdout = .stderr' | python3 "$here/iterations_check.py" "$2" ||
    fail "$1"
}
sum() { "$DUNLIN" results "$1" --json | jq -r 'select(.state == "ok") | .stdout' | "$pi/sum"; }

# One partition for each slot; one of them is killed with -9 in the middle.
start_worker w1 --slots 2 --hold 10s
submit_json '"iterations": 5e6, "name": "killed"'
same "$(jq .tasks reply)" 2
within 60 sh -c "curl -s -H 'Authorization: Bearer $(<hub/token)' $api/jobs/$job |
  jq -e '.iterations.partitions | (.[0].done > 1000) and (.[1].done > 0)'"
kill -9 "$(<pid.0.1)"
me -N "$api/jobs/$job/events" >events
says "$(<events)" "event: end" '"state":"done"'
check "$job" 5000000
says "$(sum "$job")" "darts 5000000 hits 39" "pi 3.1"
same "$(of "$job" 0 attempt)" 2
same "$(of "$job" 1 attempt)" 1
same "$(me "$api/jobs/$job" | jq -c 'keys')" "$("$DUNLIN" status "$job" --json | jq -c 'keys')"
same "$(me "$api/jobs/$job" | jq -c .iterations)" "$("$DUNLIN" status "$job" --json | jq -c .iterations)"
same "$(me "$api/jobs/$job" | jq .iterations.done)" 5000000
# Nobody may go on under its name.
same "$(post "/jobs/$job/partitions/0/next" '{"attempt":2,"had":0}')" 409
says "$(jq -r .detail reply)" "is done"

# A partition that leaves at once; the other one does it all.
cat >leaver <<'END'
#!/bin/sh
[ "$DUNLIN_TASK" = 0 ] || exec "$PI/pi_http.sh"
exec curl -s -H "Authorization: Bearer $(cat "$TOKEN_FILE")" -H 'Content-Type: application/json' \
  -d "{\"attempt\":$DUNLIN_ATTEMPT,\"done\":0}" "$API/jobs/$DUNLIN_JOB/partitions/0/leave"
END
chmod +x leaver
submit_json '"iterations": 1e6, "partitions": 2' "PI=$pi $work/leaver"
ends_as done "$job"
check "$job" 1000000
same "$(of "$job" 0 stdout)" '{"end":true}'

# A worker that is to leave: its partition ends, another one does the rest.
start_worker w2 --slots 1 --hold 10s
second=$worker
submit_json '"iterations": 4e6, "partitions": 3, "name": "leaves"'
within 60 sh -c "'$DUNLIN' status $job --json | jq -e '[.iterations.partitions[] | select(.done > 1000)] | length == 3'"
stop_worker "$second"
ends_as done "$job"
check "$job" 4000000

# A hub that is killed: who did not hear its answer asks again.
submit_json '"iterations": 5e6, "partitions": 2, "name": "hub"'
within 60 sh -c "'$DUNLIN' status $job --json | jq -e '.iterations.done > 1000'"
kill_hub
http=${api#http://}
start_hub --listen "127.0.0.1:$port" --http "${http%%/*}"
ends_as done "$job"
check "$job" 5000000

# The same job in a file.
cat >jobs.toml <<END
[[job]]
name = "file"
command = "exec $pi/pi_http.sh"
env = { API = "$api", TOKEN_FILE = "$work/hub/token" }
iterations = 1e5
span = "1s"
finish_by = "10m"
partitions_max = 2
END
submit jobs.toml
ends_as done "$job"
check "$job" 100000
same "$("$DUNLIN" status "$job" --json | jq -c '[.tasks, .iterations.total, (.finish_by_us > 0)]')" '[2,100000,true]'
stop_hub
! grep -q " error " hub.log || fail "an error in the hub's log"
