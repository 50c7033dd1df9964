# Machines whose wall clocks differ: nobody takes over work that is not lost, and lost work is taken over.
source "$(dirname "$0")/lib.sh"
source "$here/../engines/aws.sh"

same "$(LD_PRELOAD=$BUILD/libskewed_clock.so TEST_CLOCK_OFF_S=-86400 date +%F)" \
  "$(date -d yesterday +%F)"

# Leases as rows of a table.
start_engine
start_skewed_worker 0 w0 --slots 2 --hold 6s
start_skewed_worker 20 w20 --slots 2 --hold 6s
ahead=$worker
start_skewed_worker 40 w40 --slots 2 --hold 6s
submit --name slow --array 0-5 -- "echo {#} >>$work/slow; sleep 10"
ends_as done slow
same "$(sort -n slow | tr '\n' ,)" 0,1,2,3,4,5,

# One of them dies: what it had is run again by another one, once.
submit --name killed --array 0-5 -- "echo {#} >>$work/killed; sleep 6"
within 60 sh -c '[ $(wc -l <killed) -eq 6 ]'
kill_worker "$ahead"
ends_as done killed
same "$("$DUNLIN" results killed --json | jq -s 'map(.attempt) | [min, max]' -c)" '[1,2]'
same "$(wc -l <killed | tr -d ' ')" 8
