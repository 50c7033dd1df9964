# `dunlin run` shows what its tasks wrote, whole, at least once: whatever the disk, the reader or the
# one with kill -9 does. Only what was written is marked as shown.
source "$(dirname "$0")/lib.sh"
line=("$DUNLIN" run -j2 'echo {} >>ran; echo {}; echo e{} >&2' ::: 1 2 3)

# A disk that is full, a file that is closed: exit 1, the run is kept, and the same line shows all of it
# without running anything again.
expect_kept() {
  code=0
  "$@" 2>said || code=$?
  same "$code" 1
  "${line[@]}" >shown 2>said
  same "$(sort shown | tr '\n' ' ')" "1 2 3 "
  same "$(grep -c ^e said)" 3
  says "$(<said)" "may appear twice"
  same "$(sort -u ran | wc -l)" 3
  same "$(ls state/dunlin/runs)" ""
  rm ran
}
to() { local file=$1; shift; "$@" >"$file"; }
closed() { "$@" >&-; }
errors_to() { local file=$1; shift; "$@" 2>"$file"; }
expect_kept to /dev/full "${line[@]}"
expect_kept closed "${line[@]}"
code=0
"${line[@]}" >/dev/null 2>/dev/full || code=$?
same "$code" 1
expect_kept false

# The same for outputs that do not fit into a buffer, and for the files of --joblog.
big=("$DUNLIN" run -j2 'head -c 300000 /dev/zero | tr "\0" {}; echo {} >>big.ran' ::: a b)
code=0
"${big[@]}" >/dev/full 2>said || code=$?
same "$code" 1
says "$(<said)" "standard output" "No space left" "run the same command again"
same "$("${big[@]}" 2>/dev/null | tr -d a | wc -c)" 300000
same "$(sort -u big.ran | wc -l)" 2
expect 1 "$DUNLIN" run --joblog /dev/full 'echo {}' ::: 1
says "$err" /dev/full "No space left"
"$DUNLIN" run --joblog log 'echo {}' ::: 1 >shown 2>/dev/null
same "$(<shown)" 1
same "$(cut -f 1 log | tr '\n' ' ')" "Seq 1 "

# A reader that goes away: quietly, exit 141. What it did not take out of the pipe is shown again.
pipe=("$DUNLIN" run -j1 -k 'echo {}; echo {} >>pipe.ran' ::: {101..400})
code=0
{ "${pipe[@]}" 2>said || echo $? >code; } | head -c 40 >first
same "$(<code)" 141
same "$(<said)" ""
"${pipe[@]}" >rest 2>said
same "$(cat first rest | sort -u | wc -l)" 300
same "$(wc -c <first)" 40
same "$(ls state/dunlin/runs)" ""

# One that takes nothing does not keep us from hearing signals. What waits in the pipe is not marked.
mkfifo slow
# (A shell has what it runs in the background ignore SIGINT.)
env --default-signal=INT "$DUNLIN" run -j2 'head -c 200000 /dev/zero | tr "\0" {}' ::: c d >slow 2>said &
pid=$!
started+=($pid)
exec {reader}<slow
within 60 bash -c "grep -q . /proc/$pid/wchan && [ \$(ls state/dunlin/runs | wc -l) = 1 ]"
head -c 100 <&$reader >/dev/null
kill -INT $pid
code=0
wait $pid || code=$?
same "$code" 130
exec {reader}<&-
same "$("$DUNLIN" run -j2 'head -c 200000 /dev/zero | tr "\0" {}' ::: c d 2>/dev/null | wc -c)" 400000

# kill -9 as soon as the first output was read, before it can be marked: it is there again, and that is
# said. Of files and of the log nothing is there twice.
seen=("$DUNLIN" run -j1 --joblog seen.log '[ {} = x ] || until [ -e seen ]; do sleep 0.05; done; echo {}' ::: x y z)
rm -f slow
mkfifo slow
"${seen[@]}" >slow 2>/dev/null &
pid=$!
started+=($pid)
exec {reader}<slow
within 60 read -r -t 0 -u "$reader"  # It is in the pipe.
kill -STOP $pid
within 60 grep -q '^State:[[:space:]]*T' /proc/$pid/status
read -r first_line <&"$reader"
kill -9 $pid
wait $pid 2>/dev/null || true
exec {reader}<&-
touch seen
same "$first_line" x
same "$("${seen[@]}" 2>said | tr '\n' ' ')" "x y z "
says "$(<said)" "the last 1 output may appear twice"
same "$(cut -f 1 seen.log | tr '\n' ' ')" "Seq 1 2 3 "

# A line of the log that was cut off is written again, whole; lines of others stay.
"$DUNLIN" run -j1 --joblog torn.log --halt soon,fail=1 'echo {}; [ {} != 2 ]' ::: 1 2 3 >/dev/full 2>&1 || true
printf '1\t:\t17' >>torn.log
"$DUNLIN" run -j1 --joblog torn.log 'echo {}; [ {} != 2 ]' ::: 1 2 3 >shown 2>/dev/null || true
same "$(awk -F "\t" "NF != 9" torn.log)" ""
same "$(tr '\n' ' ' <shown)" "1 2 3 "

# However much a task writes: all of it, from disk, in little memory. The store keeps nothing of it
# after it was shown.
# (The address sanitizer needs more, and keeps what was freed.)
most_kb=120000
if grep -q __asan_init "$DUNLIN"; then most_kb=300000; fi
export ASAN_OPTIONS=quarantine_size_mb=1:thread_local_quarantine_size_kb=64:${ASAN_OPTIONS:-}
for size in 100000000 70000000; do
  "$DUNLIN" run "head -c $size /dev/urandom | tee sum.in | cat; : {}" ::: 1 >sum.out &
  pid=$!
  started+=($pid)
  most=0
  while [ -e /proc/$pid/status ]; do
    now=$(awk '/^VmHWM/ {print $2}' /proc/$pid/status 2>/dev/null || echo 0)
    [ "${now:-0}" -le "$most" ] || most=$now
    sleep 0.05
  done
  wait $pid || fail "it ended with $?"
  cmp sum.in sum.out || fail "the output of $size bytes is not whole"
  [ "$most" -lt "$most_kb" ] || fail "it took $most kB of memory"
done
"$DUNLIN" run --results res 'head -c 70000000 /dev/zero; : {}' ::: 1
same "$(wc -c <res/1/1/stdout)" 70000000

# 300 outputs of 100 kB in order, while the first task is slow.
"$DUNLIN" run -j4 -k '[ {} != 1 ] || sleep 1; head -c 100000 /dev/zero | tr "\0" x; echo {}' \
  ::: {1..300} | tr -d x >order
seq 300 | cmp - order

# Nothing can be kept in a folder that is read-only, and that is said before anything runs.
if [ "$(id -u)" != 0 ]; then
  mkdir read-only
  chmod 500 read-only
  expect 4 env XDG_STATE_HOME="$work/read-only" "$DUNLIN" run 'echo {} >>never' ::: 1
  says "$err" XDG_STATE_HOME
  [ ! -e never ] || fail "it ran"
fi
