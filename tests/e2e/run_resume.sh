# A run that is killed with -9 at any instant goes on with the same line: each task's output is shown,
# and what had ended is not run again.
source "$(dirname "$0")/lib.sh"
export XDG_STATE_HOME=$work/state
seq 400 >values
: >started

line=("$DUNLIN" run -j4 'echo {} >>started; sleep 0.01; echo {}' :::: values)
kills=0
until "${line[@]}" >>shown 2>>said & pid=$!; [ $kills = 8 ]; do
  # Some tasks later than the last time, wherever that is.
  target=$(($(wc -l <started 2>/dev/null || echo 0) + 7 + kills * 5))
  within 60 bash -c "[ \$(wc -l <started) -ge $target ]" || true
  kill -9 $pid 2>/dev/null || true
  wait $pid 2>/dev/null || true
  kills=$((kills + 1))
done
wait $pid || { cat said; fail "it ended with $?"; }
grep -q "tasks had ended before" said || fail "nothing was kept"
# What was shown just before a kill may be there twice; nothing is missing.
same "$(sort -nu shown | wc -l)" 400
[ "$(wc -l <shown)" -lt 520 ] || fail "too much was shown twice: $(wc -l <shown)"
same "$(sort -nu started | wc -l)" 400
[ "$(wc -l <started)" -lt 520 ] || fail "too much was run again: $(wc -l <started)"
same "$(ls state/dunlin/runs)" ""

# Interrupted, it says how to go on; changed inputs and another line are noticed.
env --default-signal=INT "$DUNLIN" run -j1 'echo {} >>begun; sleep 0.05; echo {}' :::: values >part 2>said2 &
pid=$!
within 60 bash -c '[ $(wc -l <begun) -ge 3 ]'
kill -INT $pid
code=0
wait $pid || code=$?
same "$code" 130
says "$(<said2)" interrupted "the same line goes on"
echo 401 >>values
expect 2 "$DUNLIN" run -j1 'echo {} >>begun; sleep 0.05; echo {}' :::: values
says "$err" "other inputs" --fresh
expect 0 "$DUNLIN" run true ::: 1
says "$err" "another line was not finished"

# nohup, and shells that run it in the background, are obeyed: the run goes on.
(trap '' HUP INT; exec "$DUNLIN" run -j1 'until [ -e go ]; do sleep 0.05; done; echo {}' ::: 1 2 >kept 2>said3) &
pid=$!
started+=($pid)
within 60 pgrep -P "$pid" -x dunlin-keeper
kill -HUP $pid
kill -INT $pid
touch go
wait $pid || fail "it ended with $?: $(<said3)"
same "$(tr '\n' , <kept)" 1,2,
