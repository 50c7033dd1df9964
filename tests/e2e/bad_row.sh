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

# A large job with a damaged page does not take the places of others.
submit --name large --array 0-9999 -- true
expect 0 "$DUNLIN" store put pages "$job/00000000" "this is none"
expect 0 "$DUNLIN" store put pages "$job/00000001" "nor is this"
submit --name beside --array 0-99 -- true
ends_as done beside
expect 0 "$DUNLIN" cancel large

# Rows that no program of ours writes, as whoever may submit can. Those of routes are for admins.
"$DUNLIN" token --data hub --scope submit >submitter
expect 4 env DUNLIN_TOKEN_FILE=submitter "$DUNLIN" store put routes tascaas.x ""
expect 4 env DUNLIN_TOKEN_FILE=submitter "$DUNLIN" store put routes a/b ""
for key in tascaas.x a/b reply.x; do expect 0 "$DUNLIN" store put routes $key ""; done
expect 0 env DUNLIN_TOKEN_FILE=submitter "$DUNLIN" store put expiry 0/ ""
submit --name pages --array 0-999 -- true
expect 0 env DUNLIN_TOKEN_FILE=submitter "$DUNLIN" store put pages "$job/1" ""
expect 1 timeout 60 "$DUNLIN" results "$job"
says "$err" "$job/1"
expect 0 timeout 60 "$DUNLIN" list
submit --name last --array 0-3 -- true
ends_as done last
kill -0 "$worker" 2>/dev/null || fail "the worker is gone: $(<w1.log)"

# A worker that leaves does not wait for such a row.
submit --name worse --array 0-3 -- 'until test -e '"$work"'/go; do sleep 0.05; done'
worse=$job
running() { [ -n "$(tasks_of "$worker")" ]; }
within 60 running
expect 0 "$DUNLIN" store put pages "$worse/00000000" "neither are these"
touch go
wait_for w1.log "job $worse cannot be used"
stop_worker
