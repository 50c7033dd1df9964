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
grep -q "tasks had already ended" said || fail "nothing was kept"
# What was shown just before a kill may appear twice, as it was said; nothing is missing. (How much
# that is depends on how long the disk takes for a mark.)
same "$(sort -nu shown | wc -l)" 400
doubtful=$(sed -n 's/.*the last \([0-9]*\) outputs\? may appear twice.*/\1/p' said | paste -sd+)
[ "$(wc -l <shown)" -le $((400 + ${doubtful:-0})) ] ||
  fail "$(wc -l <shown) lines of 400 were shown, and $doubtful said to be there twice"
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
says "$(<said2)" interrupted "run the same command again to continue"
echo 401 >>values
expect 2 "$DUNLIN" run -j1 'echo {} >>begun; sleep 0.05; echo {}' :::: values
says "$err" "other inputs" --fresh
expect 0 "$DUNLIN" run true ::: 1
says "$err" "another line was not finished"

# A line that runs is told from one that was stopped.
"$DUNLIN" run 'until [ -e enough ]; do sleep 0.05; done; echo {}' ::: 1 >/dev/null &
pid=$!
started+=($pid)
within 60 pgrep -P "$pid" -x dunlin-keeper
expect 4 "$DUNLIN" run 'until [ -e enough ]; do sleep 0.05; done; echo {}' ::: 1
same "$err" "dunlin: another line was not finished in this folder: \`grep -h line $work/state/dunlin/runs/*/line.json\` shows it
dunlin: this command is already running, as process $pid: wait for it, or start it in another folder"
expect 0 "$DUNLIN" run true ::: 1
says "$err" "another line was not finished"
touch enough
wait $pid || fail "it ended with $?"

# What an earlier start was not asked to keep is missing, and that is said.
line=(--halt now,fail=1 -j1 'echo {}; [ {} != 3 ] || [ -e whole ]' ::: 1 2 3 4)
expect 1 "$DUNLIN" run "${line[@]}"
touch whole
expect 1 "$DUNLIN" run --results late --joblog late.log "${line[@]}"
says "$err" "continuing: 3 of 4 tasks had already ended" "--results and --joblog have nothing of 3 of them"
same "$(ls late/1)" 4
same "$(tail -n +2 late.log | cut -f 1)" 4

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

# Killed between its last output and its end, it has nothing left to do: the same line starts no task
# again. (What has forgotten its end has nothing left but its exit, and was not hit.)
line=("$DUNLIN" run -j2 'echo {} >>started; echo {}' ::: 1 2 3)
hits=0
for ((tries = 0; hits < 5; ++tries)); do
  [ $tries -lt 100 ] || fail "only $hits of $tries were hit"
  : >started
  : >shown
  "${line[@]}" >shown 2>said4 &
  pid=$!
  until [ "$(wc -l <shown)" = 3 ] || ! is_mine "$pid"; do :; done
  kill -9 $pid 2>/dev/null || true
  # The interrupted line of above has a folder as well.
  if ! wait $pid 2>/dev/null && [ "$(find state/dunlin/runs -name end -o -name line.json | wc -l)" != 1 ]; then
    hits=$((hits + 1))
    "${line[@]}" >>shown 2>>said4 || fail "it ended with $?: $(<said4)"
    same "$(wc -l <started)" 3
  fi
  same "$(sort -u shown | wc -l)" 3
done

# Nor does it after a second kill, of the start that hands over the exit code. What is to be removed
# makes the first way out long, a full pipe the second one.
line=("$DUNLIN" run -j1 'echo {} >>again; until [ -e leave ]; do sleep 0.02; done; exit 3' ::: 1 2 3)
"${line[@]}" 2>said5 &
pid=$!
started+=($pid)
within 60 [ -s again ]
folder=$(dirname "$(grep -l again state/dunlin/runs/*/line.json)")
mkdir "$folder/much"
(cd "$folder/much" && seq 50000 | xargs touch)
touch leave
within 60 [ -e "$folder.done/end" ]
kill -9 $pid
wait $pid 2>/dev/null && fail "it was not hit"
[ -e "$folder.done/end" ] || fail "it was hit too late"
mkfifo full
exec {full}<>full
timeout 5 head -c 65536 /dev/zero >&"$full" || true
"${line[@]}" 2>&"$full" &
pid=$!
started+=($pid)
within 60 grep -q '^State:[[:space:]]*S' /proc/$pid/status
kill -9 $pid
wait $pid 2>/dev/null && fail "it did not wait"
exec {full}>&-
expect 1 "${line[@]}"
same "$err" "dunlin: all of 3 tasks had already ended; --fresh runs them again"
same "$(wc -l <again)" 3
[ ! -e "$folder.done" ] || fail "the end was not forgotten"
expect 1 "${line[@]}"
same "$(wc -l <again)" 6
same "$(ls state/dunlin/runs | grep -v '\.done$' | wc -l)" 1
