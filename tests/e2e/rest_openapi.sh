# Requests made from the service's own OpenAPI document, right and wrong, are all answered as it says.
source "$(dirname "$0")/lib.sh"

start_hub --http 127.0.0.1:0
while read -r -t 60 line <&"$hub_output"; do
  case $line in "http on "*) base=${line#http on } && break ;; esac
done
"$DUNLIN" token --data hub --scope read >reader

# Something to look at: jobs that went well and badly, one that waits, large output, a worker.
start_worker w1 --slots 2
submit --array 0-4 -- 'echo {}; echo oh >&2; exit {}'
ends_as failed "$job"
submit -- 'head -c 200000 /dev/zero'
ends_as done "$job"
# A partition that runs as far as anybody knows: its worker is gone.
submit --iterations 1000 --partitions 2 -- "touch $work/began; exec sleep 1000"
within 60 test -e began
kill_worker
submit --array 0-9 -- true
submit --after "$job" -- true
echo hello >file
"$DUNLIN" store blob put data/a file
"$DUNLIN" store blob put data/b file
"$DUNLIN" tenant add physics --quiet >secret
curl -s "$base/node/register?secret=$(<secret)&slots=1&maxSlots=2" >registered

python3 "$here/rest_openapi.py" "$base" hub/token reader "$here/../../docs/API.md" "${SEED:-1}" "${COUNT:-2000}"
python3 "$here/tenant_openapi.py" "$base" "$(<secret)" "${SEED:-1}"
stop_hub
! grep -q " error " hub.log || fail "an error in the hub's log"
