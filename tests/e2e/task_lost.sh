# Workers that die with their tasks: what runs again, what never does, and a task that takes its
# workers with it.
source "$(dirname "$0")/lib.sh"
start_hub
mkfifo begun

# Once: what a killed worker ran is run again, as a larger attempt.
start_worker w1 --slots 2 --hold 3s
submit --name again -- "echo \$DUNLIN_ATTEMPT >>$work/again; test \$DUNLIN_ATTEMPT -gt 1 && exit
  echo >$work/begun; exec sleep 1000"
read -r -t 60 <begun || fail "it did not begin"
kill_worker
start_worker w2 --slots 2 --hold 3s
ends_as done again
same "$(tr '\n' , <again)" 1,2,
same "$(of again 0 '|[.attempt,.worker]|tojson')" '[2,"w2"]'

# At most once: it is not, and that is its outcome. Those of the range that had not begun are run.
submit --name once --at-most-once --array 0-9 -- "echo {#} >>$work/once
  test {#} != 3 && exit; echo >$work/begun; exec sleep 1000"
read -r -t 60 <begun || fail "it did not begin"
kill_worker
start_worker w3 --slots 2 --hold 3s
ends_as failed once
same "$(sort -n once | uniq -d)" ""
same "$(of once 3 state)" lost
says "$(of once 3 why)" worker
same "$("$DUNLIN" status once --json | jq -c '.ok + .failed')" 10
"$DUNLIN" results once --json | jq -r 'select(.state == "ok") | .task' | sort -n >ok
sort -n once | comm -13 - <(sort -n ok) | grep -q . && fail "ok without a start"
stop_worker

# A task that kills its worker is stopped after three of them, and named. All others go on. Workers
# are started again by whoever looks after them. (It is one of the first 32: those of a lost range
# are suspected at once, the ones behind them only when the next worker is lost.)
look_after() {
  trap '[ -z "$agent" ] || kill -9 "$agent"; exit' TERM
  while :; do
    "$DUNLIN" worker --allow-root --name "$1" --folder "$work/$1.folder" --slots 2 --hold 3s \
      --tag poison >>"$1.out" 2>>"$1.log" &
    agent=$!
    wait $agent || true
    echo "$1" >>ended
  done
}
look_after a 2>/dev/null &
started+=($!) a=$!
look_after b 2>/dev/null &
started+=($!) b=$!
submit --name poison --requires poison --array 0-199 -- \
  "echo {#} \$DUNLIN_ATTEMPT >>$work/poison; test {#} != 12 || kill -9 \$PPID"
ends_as failed poison
same "$(wc -l <ended | tr -d ' ')" 3

# On machines that are taken away, a task may take more of them with it.
submit --name taken --requires poison --losses 6 -- \
  "echo \$DUNLIN_ATTEMPT >>$work/taken; test \$DUNLIN_ATTEMPT -gt 4 || kill -9 \$PPID"
ends_as done taken
same "$(of taken 0 attempt)" 5
same "$(tr '\n' , <taken)" 1,2,3,4,5,
submit --name unlimited --requires poison --losses unlimited -- "test \$DUNLIN_ATTEMPT -gt 3 || kill -9 \$PPID"
ends_as done unlimited
kill "$a" "$b"
wait "$a" "$b" || true
same "$("$DUNLIN" status poison --json | jq -c '[.ok,.failed]')" '[199,1]'
same "$("$DUNLIN" results poison --failed --json | jq -r '"\(.task) \(.state)"')" "12 lost"
says "$("$DUNLIN" results poison --failed --json)" "3 workers"
same "$(grep '^12 ' poison | tr '\n' ,)" "12 1,12 2,12 3,"
same "$(sort poison | uniq -d)" ""
