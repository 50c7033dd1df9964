# What has ended goes away: by itself when its time has come, or when somebody says so; what is not
# to go stays, and a removed job leaves nothing but its counts.
source "$(dirname "$0")/lib.sh"
expect 2 "$DUNLIN" hub --data hub --keep banana
says "$err" banana 30d forever
[ ! -e hub ] || fail "the hub made its folder although it was told nonsense"
start_hub --keep 3s --keep-failed 1h
start_worker w1 --slots 2

expect 2 "$DUNLIN" submit --keep 0s -- true
says "$err" 0s forever
submit --name big -- 'head -c 300000 /dev/zero'
ends_as done "$job"
big=$job
submit --name rows --array 0-9 -- 'head -c 3000 /dev/zero'
ends_as done "$job"
rows=$job
submit --name bad -- false
ends_as failed "$job"
bad=$job
submit --name brief --keep 1s -- false
ends_as failed "$job"
brief=$job
submit --name kept --keep forever --key nightly --array 0-299 -- echo {#}
ends_as done "$job"
kept=$job
gone() { ! "$DUNLIN" status "$1"; }
within 60 gone "$big"
within 60 gone "$rows"
within 60 gone "$brief"
expect 5 "$DUNLIN" results "$big"
says "$err" "no job" list
expect 5 "$DUNLIN" wait "$big"
same "$("$DUNLIN" status "$bad" --quiet) $("$DUNLIN" status "$kept" --quiet)" "failed done"
same "$("$DUNLIN" list --quiet | sort | tr '\n' ' ')" "$(printf '%s\n' "$bad" "$kept" | sort | tr '\n' ' ')"
# Nothing of their bytes is left.
same "$("$DUNLIN" store blob list --quiet)" ""
same "$("$DUNLIN" store scan outputs --quiet)" ""
same "$("$DUNLIN" store scan pages --json | jq -r .key | cut -d / -f 1 | sort -u | tr '\n' ' ')" \
  "$(printf '%s\n' "$bad" "$kept" | sort | tr '\n' ' ')"

# By hand: what has ended, whole or not at all.
submit --name open --array 0-1 --requires nobody-has-this -- true
open=$job
expect 1 "$DUNLIN" remove "$kept" "$open"
says "$err" "$open" "has not ended" cancel
same "$("$DUNLIN" status "$kept" --quiet)" done
expect 5 "$DUNLIN" remove no-such-job
expect 2 "$DUNLIN" remove
expect 2 "$DUNLIN" remove "$bad" --before 1h
token=$("$DUNLIN" token --data hub --scope read)
printf '%s\n' "$token" >reader
expect 4 "$DUNLIN" remove "$bad" --token-file reader
same "$("$DUNLIN" status "$bad" --quiet)" failed
submit --after "$bad" --name skipped -- true
ends_as skipped "$job"
says "$("$DUNLIN" remove "$bad")" "removed job $bad"
expect 5 "$DUNLIN" retry "$bad"
expect 5 "$DUNLIN" remove "$bad"
expect 5 "$DUNLIN" submit --after "$bad" -- true

# All that ended some time ago.
says "$("$DUNLIN" remove --ended --before 1d)" "removed 0 jobs"
says "$("$DUNLIN" remove --ended --dry-run)" "would remove job $kept" "would remove job $job"
same "$("$DUNLIN" remove --ended --owner nobody --quiet)" 0
for unset in --owner --before; do
  expect 2 "$DUNLIN" remove --ended "$unset" ""
  says "$err" "$unset"
done
same "$("$DUNLIN" remove --ended --dry-run --quiet)" 2
same "$("$DUNLIN" remove --ended --json | jq -c '[.removed,.left]')" '[2,0]'
same "$("$DUNLIN" list --quiet)" "$open"
same "$("$DUNLIN" history --json | jq -s -c '[map(.jobs), map(.ok), map(.failed), map(.skipped)] | map(add)')" \
  '[6,311,2,1]'

# A key is free again.
submit --key nightly -- true
[ "$job" != "$kept" ] || fail "the key still names a job that is gone"
ends_as done "$job"

# The rule is the store's, and outlives the hub.
says "$("$DUNLIN" store keep)" "3s" "1h"
"$DUNLIN" token --data hub --scope worker >worker
expect 4 "$DUNLIN" store keep 1d --token-file worker
says "$err" admin
expect 2 "$DUNLIN" store keep never
says "$("$DUNLIN" store keep forever --failed 7d)" "forever" "7d"
kill_hub
start_hub --listen "127.0.0.1:$port"
same "$("$DUNLIN" store keep --json | jq -c '[.keep_ms,.keep_failed_ms]')" '[0,604800000]'
expect 0 "$DUNLIN" status "$job"
"$DUNLIN" cancel "$open" --quiet
stop_worker

# Many at once, while the hub is killed: each is there, or is not.
submit --name many --keep forever -- true
for i in $(seq 40); do submit --name "many$i" -- 'head -c 70000 /dev/zero'; done
start_worker w2 --slots 2
"$DUNLIN" wait "$job" many --quiet
all_ended() { [ "$("$DUNLIN" list --state open --quiet)" = "" ]; }
within 60 all_ended
"$DUNLIN" remove --ended --quiet >removed.out 2>removed.err &
remover=$!
for _ in 1 2 3; do
  kill_hub
  start_hub --listen "127.0.0.1:$port"
done
wait "$remover" || "$DUNLIN" remove --ended --quiet >removed.out
same "$("$DUNLIN" list --quiet)" ""
same "$("$DUNLIN" store scan outputs --quiet)" ""
stop_worker
stop_hub
expect 0 "$DUNLIN" store check hub
