# A worker that sleeps for longer than its leases last: whoever took its tasks over has the say.
source "$(dirname "$0")/lib.sh"
start_hub
mkfifo begun
start_worker w1 --slots 2 --hold 3s
first=$worker
submit --name long -- "echo \$DUNLIN_ATTEMPT \$DUNLIN_WORKER >>$work/ran
  test \$DUNLIN_ATTEMPT -gt 1 && { echo second; exit; }
  echo >$work/begun; while ! test -e $work/go; do sleep 0.05; done; echo first"
submit --name array --array 0-299 -- "echo {#} \$DUNLIN_ATTEMPT >>$work/array; sleep 0.01"
read -r -t 60 <begun || fail "it did not begin"
wait_for array "^20 "
kill -STOP "$first"
touch go  # The task itself ends while its worker sleeps.
start_worker w2 --slots 2 --hold 10s
ends_as done long
ends_as done array
kill -CONT "$first"

# Its late outcomes are dropped; it works on.
kill_worker "$worker"
submit --array 0-9 -- true
ends_as done "$job"
same "$("$DUNLIN" results long --json | jq -c '[.attempt,.worker,.stdout]')" '[2,"w2","second\n"]'
same "$(sort ran | tr '\n' ,)" "1 w1,2 w2,"
same "$("$DUNLIN" results array --json | wc -l | tr -d ' ')" 300
same "$("$DUNLIN" status array --json | jq -c '[.ok,.failed]')" '[300,0]'
same "$(sort array | uniq -d)" ""
stop_worker "$first"
