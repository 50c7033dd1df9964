# A worker outlives its hub: the task that ran goes on, as the same attempt, and is published.
source "$(dirname "$0")/lib.sh"
start_hub
mkfifo begun gate
start_worker w1 --slots 2 --hold 30s
submit --name long -- "echo \$DUNLIN_ATTEMPT >>$work/ran; echo >$work/begun; read line <$work/gate
  head -c 200000 /dev/zero"
read -r -t 60 <begun || fail "it did not begin"

# Killed, and away while the task ends with an output that must be stored as a blob.
kill_hub
echo >gate
within 60 eval '[ -z "$(tasks_of "$worker")" ]'
start_hub --listen "127.0.0.1:$port"
ends_as done long
same "$(of long 0 '|[.attempt,.stdout_size,.why]|tojson')" '[1,200000,null]'
same "$(wc -l <ran | tr -d ' ')" 1

# Stopped in order and started again, several times, under an array.
submit --name array --array 0-399 -- "echo {#} >>$work/array; sleep 0.01"
for i in 1 2 3; do
  wait_for array "^${i}00$"
  stop_hub
  start_hub --listen "127.0.0.1:$port"
done
ends_as done array
same "$("$DUNLIN" results array --json | jq -r .attempt | sort -u)" 1
same "$(sort -n array | uniq | wc -l | tr -d ' ')" 400
same "$(wc -l <array | tr -d ' ')" 400
stop_worker
