# `dunlin run` follows GNU parallel's conventions: placeholders, sources, order, logs, results, halt.
source "$(dirname "$0")/lib.sh"
export XDG_STATE_HOME=$work/state
run() { "$DUNLIN" run "$@"; }

# Sources and placeholders.
same "$(run -k echo {} ::: a 'b c' "d'e")" "a
b c
d'e"
same "$(run -k 'echo {1}-{2}' ::: a b ::: 1 2 | tr '\n' ' ')" "a-1 a-2 b-1 b-2 "
same "$(run -k 'echo {1}{2}' ::: a b :::+ 1 2 | tr '\n' ' ')" "a1 b2 "
printf 'x.tar.gz\ndir/y.c\n' >list
same "$(run -k 'echo {.} {/} {//} {/.} {#}' :::: list)" "x.tar x.tar.gz . x.tar 1
dir/y y.c dir y 2"
same "$(seq 3 | run -k echo n{} | tr '\n' ' ')" "n1 n2 n3 "
same "$(run -k --array 5-9:2 echo {#} | tr '\n' ' ')" "5 7 9 "
printf 'name,size\nann,3\n"b, b",4\n' >t.csv
same "$(run -k --csv --header 'echo {name}:{size}' :::: t.csv)" "ann:3
b, b:4"
same "$(printf 'a:b\n' | run --colsep : echo {2} {1})" "b a"
same "$(run --dry-run 'gzip -9 {}' ::: 'a b.log' c.log)" "gzip -9 'a b.log'
gzip -9 c.log"
same "$(run 'echo {}; echo $DUNLIN_JOB.$DUNLIN_TASK.$DUNLIN_ATTEMPT.$DUNLIN_WORKER' ::: x)" "x
run.0.1.run"

# The folder and the environment are ours; output is whole, in bytes, and never mixed.
same "$(COLOUR=green run 'echo $COLOUR $(pwd) {}' ::: 1)" "green $work 1"
head -c 300000 /dev/urandom >bytes
run cat ::: bytes | cmp - bytes
run -j4 'for i in 1 2 3 4 5; do echo {}; sleep 0.01; done' ::: 1 2 3 4 5 6 | uniq -c >blocks
same "$(awk '$1 != 5' blocks)" ""
same "$(run --tag 'echo a; echo b; : {}' ::: v)" "v	a
v	b"
run 'echo to-err >&2; : {}' ::: 1 2>err.txt
same "$(<err.txt)" to-err

# Failures: exit code, reasons, retries, time limits.
expect 1 "$DUNLIN" run 'exit {}' ::: 0 3
says "$err" "1 of 2 tasks failed" "exit 3: exit code 3"
expect 1 "$DUNLIN" run no-such-program ::: 1
says "$err" no-such-program
same "$(run --retries 2 'echo try $DUNLIN_ATTEMPT {}; [ $DUNLIN_ATTEMPT = 3 ]' ::: 1)" "try 3 1"
expect 1 "$DUNLIN" run --timeout 200ms 'sleep 600; : {}' ::: 1
says "$err" "1 of 1 task failed"

# Joblog, results, halt.
run --joblog log --results res 'echo out {}; echo err {} >&2' ::: p q
same "$(head -n 1 log | cut -f 1-3)" "Seq	Host	Starttime"
same "$(tail -n +2 log | cut -f 1,7,8,9 | sort)" "1	0	0	echo out p; echo err p >&2
2	0	0	echo out q; echo err q >&2"
same "$(cat res/1/q/stdout res/1/q/stderr res/1/q/seq)" "out q
err q
2"
# Tasks with equal values have a folder each, also after a kill.
"$DUNLIN" run --results equal 'echo {#}; [ {#} = 1 ] || [ -e go-on ] || sleep 1000; : {}' ::: a a b a &
pid=$!
started+=($pid)
within 60 [ -e equal/1/a/stdout ]
kill -9 $pid
wait $pid 2>/dev/null || true
touch go-on
run --results equal 'echo {#}; [ {#} = 1 ] || [ -e go-on ] || sleep 1000; : {}' ::: a a b a
same "$(cd equal/1 && grep . */stdout | tr '\n' ' ')" "a#2/stdout:2 a#4/stdout:4 a/stdout:1 b/stdout:3 "
expect 1 "$DUNLIN" run -j1 --halt now,fail=1 'echo {} >>ran; sleep 0.02; [ {} != 2 ]' ::: 1 2 3 4 5 6 7 8 9 10 11 12
says "$err" "halted" "run the same command again to continue"
[ "$(wc -l <ran)" -lt 12 ] || fail "it did not halt"
expect 0 "$DUNLIN" run --progress true ::: 1 2 3
says "$err" "3 of 3 done"

# Exact: no task is started after the failure was seen.
for when in soon now; do
  rm -f ran
  expect 1 "$DUNLIN" run --fresh -j1 --halt $when,fail=1 'echo {} >>ran; exit 1' ::: {1..20}
  same "$(wc -l <ran)" 1
done
rm -f ran
expect 1 "$DUNLIN" run --fresh -j1 --halt soon,success=3 'echo {} >>ran; [ {} -gt 4 ]' ::: {1..20}
same "$(wc -l <ran)" 7
rm -f ran
expect 1 "$DUNLIN" run --fresh -j1 --retries 2 --halt soon,fail=1 'echo {} >>ran; exit 1' ::: {1..20}
same "$(sort ran | uniq -c | awk '$1 == 3' | wc -l)" 1  # A try that is not the last is no failure.
rm -f ran
expect 1 "$DUNLIN" run --fresh -j2 --halt soon,fail=2 'echo {} >>ran; exit 1' ::: {1..20}
[ "$(wc -l <ran)" -le 3 ] || fail "$(wc -l <ran) were started"
rm -rf state/dunlin/runs

# {%} is the number of the slot: of those that run at the same time each has another.
same "$(run -j1 'echo {%}' ::: a b c | sort -u)" 1
run -j3 'mkdir busy-{%} && sleep 0.02; echo {%}; rmdir busy-{%}' ::: {1..30} >slots
same "$(sort -u slots | tr '\n' ' ')" "1 2 3 "

# Runs that were not finished are mentioned in one line, however many.
for i in 1 2 3; do expect 1 "$DUNLIN" run -j1 --halt now,fail=1 "exit $i; : {}" ::: 1 2; done
expect 0 "$DUNLIN" run true ::: 1
same "$(wc -l <<<"$err")" 1
says "$err" "3 other lines were not finished"
rm -rf state/dunlin/runs

# Bad input is refused before anything is run.
for words in "--frobnicate ls" "--array 1-x echo" "--array 0-1000000000000 echo" "--halt often true" \
  "--timeout soon true" "-j 100000 true"; do
  expect 2 "$DUNLIN" run $words </dev/null
done
expect 2 "$DUNLIN" run --colsep 'a(b' echo {2} ::: a
expect 2 "$DUNLIN" run echo ::: a b :::+ 1
expect 2 "$DUNLIN" run echo :::: no-such-file
says "$err" no-such-file
same "$(run echo </dev/null)" ""
same "$(ls state/dunlin/runs)" ""

# A failed cleanup does not make the task fail, and run reports it.
expect 0 "$DUNLIN" run --cleanup 'exit 3' 'echo {}' ::: a b
same "$(sort <<<"$out")" $'a\nb'
says "$err" "cleanup: exit code 3; likewise 1 other"
