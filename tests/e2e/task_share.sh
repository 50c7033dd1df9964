# Long tasks do not wait behind each other while another worker has room, whoever pulled them first.
source "$(dirname "$0")/lib.sh"
start_hub
start_worker w1 --slots 1
begun() { [ "$(wc -l <begun)" = "$1" ]; }
touch begun

# Short ones before: what is known of them does not count for the next job.
submit --array 0-199 -- true
ends_as done "$job"

submit --name long --array 0-3 -- "echo {#} >>$work/begun; while ! test -e $work/go; do sleep 0.1; done"
within 60 begun 1
start_worker w2 --slots 2
within 60 begun 3
start_worker w3 --slots 1
within 60 begun 4
touch go
ends_as done long
same "$("$DUNLIN" results long --json | jq -r .worker | sort | uniq -c | tr -s ' \n' ' ')" " 1 w1 2 w2 1 w3 "
same "$("$DUNLIN" results long --json | jq -r .state | sort -u)" ok
