# A worker that is asked to leave: it finishes what runs and gives back the rest; asked twice, it gives
# back all.
source "$(dirname "$0")/lib.sh"
start_hub
mkfifo begun gate

# One SIGTERM: the task that runs is finished here, the others elsewhere, and each starts once.
start_worker w1 --slots 1
first=$worker
submit --name many --array 0-9 -- "echo {#} >>$work/starts
  test {#} != 0 && exit; echo >$work/begun; read line <$work/gate"
read -r -t 60 <begun || fail "it did not begin"
kill -TERM "$worker"
wait_for w1.log "leaving"
start_worker w2 --slots 1
within 60 eval '[ "$("$DUNLIN" status many --json | jq .ok)" = 9 ]'
says "$("$DUNLIN" pool)" w1 w2
echo >gate
ends_as done many
wait "$first" || fail "w1 ended with $?"
same "$(of many 0 worker)" w1
same "$("$DUNLIN" results many --json | jq -r 'select(.task > 0) | .worker' | sort -u)" w2
# A range that goes back whole has the next number of attempt, because its message is another one.
# Whether w1 pulled the rest again before it was told to leave is a matter of time.
same "$(sort -n starts)" "$(seq 0 9)"
same "$(of many 0 attempt)" 1
within_two=$("$DUNLIN" results many --json | jq -s 'map(.attempt) | max <= 2')
same "$within_two" true
same "$("$DUNLIN" pool --quiet)" w2
[ -z "$(ls w1.folder)" ] || fail "w1 left files"

# Two: what runs is stopped, given back and run elsewhere as a larger attempt, without a wait for a
# lease. It is not the task's failure.
submit --name moved -- "echo \$DUNLIN_ATTEMPT >>$work/moved; test \$DUNLIN_ATTEMPT -gt 1 && exit
  trap '' TERM; echo >$work/begun; sleep 1000 & wait"
read -r -t 60 <begun || fail "it did not begin"
kill -TERM "$worker"
wait_for w2.log "leaving:"
kill -TERM "$worker"
wait "$worker" || fail "w2 ended with $?"
grep -lzs "^DUNLIN_JOB=$job\$" /proc/[0-9]*/environ && fail "its task goes on"
start_worker w3 --slots 1
ends_as done moved
same "$(wc -l <moved | tr -d ' ')" 2
same "$(of moved 0 '|[.worker,.state]|tojson')" '["w3","ok"]'
same "$(of moved 0 attempt)" "$(tail -n 1 moved)"

# At most once: stopped is lost.
submit --name once --at-most-once -- "echo >$work/begun; exec sleep 1000"
read -r -t 60 <begun || fail "it did not begin"
kill -TERM "$worker"
wait_for w3.log "leaving:"
kill -TERM "$worker"
wait "$worker" || fail "w3 ended with $?"
ends_as failed once
same "$(of once 0 state)" lost

# Nothing to do for a while: it leaves by itself.
start_worker w4 --idle-exit 200ms
timeout 60 tail --pid="$worker" -f /dev/null || fail "it did not leave"
wait "$worker" || fail "w4 ended with $?"
same "$("$DUNLIN" pool --quiet)" ""

# A worker whose keeper was killed (it ends what a killed worker left behind) leaves as any other.
start_worker w9 --slots 1
find_keeper "$worker"
kill -9 "$keeper"
kill -TERM "$worker"
wait "$worker" || fail "w9 ended with $?"
