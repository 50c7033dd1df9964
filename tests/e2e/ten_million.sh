# Ten million tasks are accepted at once, and cost the hub nothing while they wait.
source "$(dirname "$0")/lib.sh"
start_hub
submit -- true  # What the first call costs is not the array's.

resident_kb() { awk '/^VmRSS/ { print $2 }' "/proc/$hub/status"; }
before=$(resident_kb)
began=$(date +%s%3N)
for i in 1 2 3 4 5; do submit --array 0-9999999 -- ./sim --seed {}; done
took=$((($(date +%s%3N) - began) / 5))
grown=$(($(resident_kb) - before))
echo "$took ms for each job of 10000000 tasks; the hub grew by $grown KB"
[ "$took" -lt 2000 ] || fail "one took $took ms"
[ "$grown" -lt 20480 ] || fail "the hub grew by $grown KB"
same "$("$DUNLIN" status "$job" --json | jq -c '[.tasks,.waiting]')" '[10000000,10000000]'

