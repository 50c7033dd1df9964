# Iterative jobs: partitions share iterations while they run, whatever dies; deadlines make more of
# them; and a program that does not play along is told so.
source "$(dirname "$0")/lib.sh"
start_hub
with_token submit true
export DUNLIN_TOKEN_FILE=$work/submit.token  # All that clients need here.

# part SECONDS: does its iterations, each in so many seconds, and says which they were.
cat >part <<'END'
#!/bin/sh
while echo next >&3 && read -r word first count <&3 && [ "$word" = do ]; do
  echo "$first" >>"${LOG:-/dev/null}"
  sleep "$(awk "BEGIN { print $count * $1 }")"
  echo "$first $count"
done
END
chmod +x part
check() { "$DUNLIN" results "$1" --json | python3 "$here/iterations_check.py" "$2" || fail "$1"; }

# All well: once each, and status knows.
with_token worker start_worker w1 --slots 2 --hold 2s
expect 0 "$DUNLIN" submit --name calm --iterations 1e4 --span 100ms -- "$work/part" 0.0001
says "$out" "10000 iterations in 2 partitions"
ends_as done calm
check calm 10000
expect 0 "$DUNLIN" status calm
says "$out" "10000 of 10000 iterations done (100.0 %)" "PARTITION" "ended"
same "$("$DUNLIN" status calm --json | jq .iterations.done)" 10000

# A fast partition takes over what a slow one has not begun.
submit --name uneven --iterations 2000 --partitions 2 --span 500ms -- \
  "exec $work/part \$([ \$DUNLIN_TASK = 0 ] && echo 0.01 || echo 0.0005)"
ends_as done uneven
check uneven 2000
fast=$("$DUNLIN" status uneven --json | jq '.iterations.partitions[1].done')
[ "$fast" -gt 1500 ] || fail "the fast partition did only $fast of 2000"

# A worker that is killed, a hub that is killed: what was in their hands is done by others, once.
submit --name killed --iterations 4000 --partitions 4 --span 100ms --env "LOG=$work/killed" -- \
  "$work/part" 0.002
within 60 sh -c '[ $(wc -l <killed) -ge 8 ]'
kill_worker
kill_hub
start_hub --listen "127.0.0.1:$port"
with_token worker start_worker w2 --slots 2 --hold 2s
with_token worker start_worker w3 --slots 2 --hold 2s
last=$worker
within 60 sh -c '"$DUNLIN" status killed --json | jq -e ".iterations.done > 1000"'
kill_worker "$last"
with_token worker start_worker w4 --slots 2 --hold 2s
ends_as done killed
check killed 4000

# A partition that fails gives back all that it had, also if it is not tried again.
submit --name fails --iterations 1000 --partitions 2 --span 100ms --retries 0 -- \
  "[ \$DUNLIN_TASK = 1 ] || exec $work/part 0.002
   echo next >&3; read -r word first count <&3; echo \$first \$count; exit 3"
ends_as failed fails
check fails 1000
same "$(of fails 1 state)" failed
expect 0 "$DUNLIN" retry fails

# A worker that is to leave finds others for what its partitions have not begun.
submit --name leaves --iterations 3000 --partitions 2 --span 100ms --env "LOG=$work/leaves" -- \
  "$work/part" 0.005
within 60 sh -c '[ $(wc -l <leaves) -ge 6 ]'
stop_worker
ends_as done leaves
check leaves 3000

# A deadline that one partition cannot meet: there are more, and those that are not needed are settled.
with_token worker start_worker w5 --slots 8 --hold 2s
submit --name late --iterations 2000 --finish-by 8s --partitions-max 12 --span 200ms -- \
  "$work/part" 0.01
within 60 sh -c '"$DUNLIN" status late | grep -q "deadline  in"'
ends_as done late
check late 2000
grown=$("$DUNLIN" status late --json | jq '[.iterations.partitions[] | select(.done > 0)] | length')
[ "$grown" -ge 3 ] || fail "only $grown partitions worked against the deadline"
same "$("$DUNLIN" status late --json | jq .tasks)" 12

# One that nothing can meet is told so, early.
submit --name never --iterations 1e9 --finish-by 30s --partitions-max 4 --span 100ms -- \
  "$work/part" 0.01
within 60 sh -c '"$DUNLIN" status never | grep -q "will be missed: +[0-9]* slots would meet it"'
expect 0 "$DUNLIN" cancel never

# Programs that do not play along.
submit --name deaf --iterations 10 --retries 0 -- true
ends_as failed deaf
says "$(of deaf 0 why)" "exited without asking for iterations" "descriptor 3"
submit --name hasty --iterations 10 --partitions 1 --retries 0 -- 'echo next >&3; read -r x <&3'
ends_as failed hasty
says "$(of hasty 0 why)" "exited before its iterations were done"
submit --name rude --iterations 10 --partitions 1 --retries 0 -- \
  'echo mumble >&3; read -r x <&3; echo "$x"; exit 1'
ends_as failed rude
says "$(of rude 0 stdout)" "error" "mumble"
# Plain jobs may have a deadline, too, and no channel.
submit --name plain --finish-by 23:59 --array 0-2 -- '[ -z "$DUNLIN_CHANNEL" ]'
ends_as done plain

# Bad input changes nothing.
before=$("$DUNLIN" list --quiet | wc -l)
for bad in "--iterations 0" "--iterations -5" "--iterations 1.5" "--iterations many" \
  "--iterations 1e30" "--iterations 10 --partitions 2000" "--iterations 10 --array 0-3" \
  "--iterations 10 --partitions 5 --partitions-max 2" "--iterations 10 --at-most-once" \
  "--iterations 10 --relaxed" "--partitions 3" "--finish-by soon" "--finish-by 25:00" \
  "--finish-by 2001-01-01T00:00" "--finish-by 0s" "--iterations 10 --span never"; do
  expect 2 "$DUNLIN" submit $bad -- true
done
same "$("$DUNLIN" list --quiet | wc -l)" "$before"
