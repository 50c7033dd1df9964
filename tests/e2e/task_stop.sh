# How tasks are stopped: timeout, cancel, and what is run after them. Nothing that they started stays.
source "$(dirname "$0")/lib.sh"
start_hub
start_worker w1 --slots 2

# Processes that carry the mark of the job, whoever their parents are.
of_job() { grep -lzs "^DUNLIN_JOB=$1\$" /proc/[0-9]*/environ | cut -d / -f 3; }
none_of() { [ -z "$(of_job "$1")" ]; }

submit --timeout 300ms -- 'echo begun; setsid sleep 1000 & sleep 1000'
ends_as failed "$job"
same "$(of "$job" 0 '|[.state,.stdout]|tojson')" '["timeout","begun\n"]'
says "$(of "$job" 0 why)" "300"
none_of "$job" || fail "left by the timeout: $(of_job "$job")"

# A task that does not listen is killed all the same.
submit --timeout 100ms -- 'trap "" TERM; while :; do sleep 0.05; done'
ends_as failed "$job"
same "$(of "$job" 0 state)" timeout

# Cancelled: the whole tree is gone within 2 s, also those that hid in sessions of their own.
mkfifo begun
submit -- "trap '' TERM; setsid sh -c 'setsid sleep 1001 & exec sleep 1002' & (sleep 1003 &)
  echo >$work/begun; sleep 1004"
read -r -t 20 <begun || fail "the task did not begin"
within 5 eval '[ "$(of_job "$job" | wc -l)" = 5 ]'
began=$(date +%s%3N)
expect 0 "$DUNLIN" cancel "$job"
within 5 none_of "$job"
took=$(($(date +%s%3N) - began))
[ $took -le 2000 ] || fail "it took $took ms to end them"
ends_as cancelled "$job"
same "$("$DUNLIN" results "$job" --task 0 --json | jq -r .state)" cancelled

# A cancelled array does not go on, and the worker takes other work.
submit --array 0-99999 -- "echo {#} >>$work/started; exec sleep 1000"
within 20 eval '[ "$(wc -l <started)" = 2 ]'
expect 0 "$DUNLIN" cancel "$job"
within 5 none_of "$job"
submit -- true
ends_as done "$job"
same "$(wc -l <started | tr -d ' ')" 2

# What is left after a task that ended by itself is killed, too, even if it has just begun.
submit --array 0-99 -- 'setsid sleep 1005 & test {#} -lt 50 || setsid sleep 1006 &'
ends_as done "$job"
none_of "$job" || fail "left by the task: $(of_job "$job")"

# --cleanup runs after each attempt, however that ended, in its folder.
submit --retries 1 --cleanup 'echo $DUNLIN_ATTEMPT $(cat note) >>'"$work/cleaned" -- \
  'echo from $DUNLIN_ATTEMPT >note; exit 3'
ends_as failed "$job"
same "$(<cleaned)" "1 from 1
2 from 2"
same "$(of "$job" 0 exit)" 3
submit --timeout 100ms --cleanup "touch $work/after" -- sleep 1000
ends_as failed "$job"
[ -e after ] || fail "no cleanup after a timeout"
submit --cleanup "exit 9" -- true
ends_as done "$job"
says "$("$DUNLIN" results "$job" --json)" "cleanup: exit code 9"
same "$(tasks_of "$worker")" ""
stop_worker
