# A damaged row stops the job that needs it, until it is repaired, and nothing else.
source "$(dirname "$0")/lib.sh"
start_hub
submit --name hurt --array 0-3 -- echo {#}
hurt=$job
expect 0 "$DUNLIN" store put pages "$hurt/00000000" "these bytes are no page"
start_worker w1 --slots 2
wait_for w1.log "cannot be used"
submit --name well --array 0-3 -- echo {#}
ends_as done well
kill -0 "$worker" 2>/dev/null || fail "the worker is gone: $(<w1.log)"
expect 5 "$DUNLIN" store get ends "$hurt"

# Repaired, it goes on by itself.
expect 0 "$DUNLIN" store erase pages "$hurt/00000000"
ends_as done hurt
same "$("$DUNLIN" results hurt --json | jq -r .state | sort | uniq -c | tr -s ' ')" " 4 ok"

# A worker that leaves does not wait for such a row.
submit --name worse --array 0-3 -- 'until test -e '"$work"'/go; do sleep 0.05; done'
worse=$job
running() { [ -n "$(tasks_of "$worker")" ]; }
within 60 running
expect 0 "$DUNLIN" store put pages "$worse/00000000" "neither are these"
touch go
wait_for w1.log "job $worse cannot be used"
stop_worker
