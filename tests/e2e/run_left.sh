# After kill -9 of `dunlin run` or of a worker nothing that a task started lives on: not the shell's
# children, not those with a session of their own. A run that goes on starts nothing beside them.
source "$(dirname "$0")/lib.sh"
export XDG_STATE_HOME=$work/state

# task FILE: writes the numbers of its processes there, and waits.
cat >task <<'END'
sh -c 'echo $$ >>'"$1"'; exec sleep 1000' &
setsid sh -c 'echo $$ >>'"$1"'; exec sleep 1000' &
setsid sh -c 'trap "" TERM HUP INT; (echo $$ >>'"$1"'; sleep 1000; sleep 1000) & wait' &
echo $$ >>"$1"
wait
END
# living FILE: those of them that live; one that only waits to be asked how it ended does not.
cat >living <<'END'
for pid in $(cat "$1" 2>/dev/null); do
  ! grep -qs '^State:[[:space:]]*[RSDTtI]' /proc/$pid/status || echo $pid
done
END
has() { [ "$(cat "$1" 2>/dev/null | wc -l)" -ge "$2" ]; }
none_of() { [ -z "$(sh living "$1")" ]; }

"$DUNLIN" run -j1 "sh $work/task $work/pids-{}" ::: 1 &
pid=$!
started+=($pid)
within 60 has pids-1 4
kill -9 $pid
wait $pid 2>/dev/null || true
within 60 none_of pids-1

# The keeper was killed, too: then whoever goes on ends them before it starts anything.
line=("$DUNLIN" run -j1 'sh living left >>beside; [ -e second ] || sh '"$work/task $work/left"'; echo {}' ::: 1)
"${line[@]}" &
pid=$!
started+=($pid)
within 60 has left 4
find_keeper $pid
kill -STOP $pid
kill -9 "$keeper"
kill -9 $pid
wait $pid 2>/dev/null || true
[ -n "$(sh living left)" ] || fail "nothing was left, so nothing was tried"
touch second
same "$("${line[@]}" 2>/dev/null)" 1
none_of left || fail "$(sh living left) live on"
same "$(<beside)" ""

# The same with --fresh.
rm -f second left
"${line[@]}" &
pid=$!
started+=($pid)
within 60 has left 4
find_keeper $pid
kill -STOP $pid
kill -9 "$keeper"
kill -9 $pid
wait $pid 2>/dev/null || true
touch second
same "$("$DUNLIN" run --fresh "${line[@]:2}" 2>/dev/null)" 1
none_of left || fail "$(sh living left) live on"
same "$(<beside)" ""

# A worker.
start_hub
start_worker w1 --slots 1
submit -- sh "$work/task" "$work/pids-w"
within 60 has pids-w 4
kill_worker
within 60 none_of pids-w

# Its folder is nobody else's while it lives.
"$DUNLIN" cancel "$job" >/dev/null
start_worker w2 --slots 1
expect 4 timeout 60 "$DUNLIN" worker --allow-root --name w3 --folder "$work/w2.folder"
says "$err" "another worker" "w2.folder"

# While the worker lives, what has a session of its own and cleared its environment ends with its task.
submit --wait -- sh -c 'env -i setsid sh -c "echo \$\$ >'"$work"'/escaped; exec sleep 1000" & while [ ! -s '"$work"'/escaped ]; do :; done'
within 60 none_of escaped
# The same without any environment, which looks like a process in the middle of an exec.
rm escaped
submit --wait -- sh -c 'setsid env -i /bin/sleep 1000 & echo $! >'"$work"'/escaped; until grep -qs sleep /proc/$!/comm; do :; done'
within 60 none_of escaped
stop_worker

# A worker with a folder of its own by default removes those that killed ones have left, and no other.
"$DUNLIN" worker --allow-root --slots 1 >w4.out 2>w4.log &
first=$!
started+=($first)
wait_for w4.out worker
"$DUNLIN" worker --allow-root --slots 1 >w5.out 2>w5.log &
second=$!
started+=($second)
wait_for w5.out worker
mkdir -p state/dunlin/workers/mine
same "$(ls state/dunlin/workers | wc -l)" 3
find_keeper $first
kill_worker $first
within 60 eval '! kill -0 $keeper 2>/dev/null || grep -q "^State:.*Z" /proc/$keeper/status'  # It has the lock.
"$DUNLIN" worker --allow-root --slots 1 >w6.out 2>w6.log &
third=$!
started+=($third)
wait_for w6.out worker
same "$(ls state/dunlin/workers | grep -c -e mine -e "-$second-" -e "-$third-")" 3
same "$(ls state/dunlin/workers | wc -l)" 3
stop_worker $second
stop_worker $third
same "$(ls state/dunlin/workers)" mine

# `dunlin run` removes what is left of runs whose end was handed over.
mkdir -p state/dunlin/runs/0123456789abcdef.done/store state/dunlin/runs/fedcba9876543210.done
echo "0 1" >state/dunlin/runs/fedcba9876543210.done/end
same "$("$DUNLIN" run echo {} ::: 1)" 1
same "$(ls state/dunlin/runs | grep done)" fedcba9876543210.done
! pgrep -P $$ -x dunlin-keeper || fail "a keeper was left"
