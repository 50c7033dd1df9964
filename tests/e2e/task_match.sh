# Which worker runs what: tags, cpus, memory, gpus; what `explain` and `pool` say about it.
source "$(dirname "$0")/lib.sh"
start_hub
start_worker plain --slots 2 --mem 1G
plain=$worker
start_worker big --slots 4 --mem 64G --gpus 2 --tag gpu --tag org=star
big=$worker

ran_on() { "$DUNLIN" results "$1" --json | jq -r .worker | sort -u | tr '\n' ,; }
submit --requires org=star --requires gpu --array 0-19 -- true
ends_as done "$job"
same "$(ran_on "$job")" big,
submit --mem 2G --array 0-9 -- true
ends_as done "$job"
same "$(ran_on "$job")" big,
submit --cpus 3 --array 0-9 -- true
ends_as done "$job"
same "$(ran_on "$job")" big,

# Never more at once than fit: two of two GPUs, one of three cpus.
submit --gpus 2 --array 0-4 -- "mkdir $work/lock && sleep 0.02 && rmdir $work/lock"
ends_as done "$job"
submit --cpus 3 --array 0-4 -- "mkdir $work/lock && sleep 0.02 && rmdir $work/lock"
ends_as done "$job"

# A requirement that nobody has: it waits, and explain says for what; then it comes.
submit --name picky --requires fpga --array 0-9 -- true
within 60 "$DUNLIN" explain picky
says "$("$DUNLIN" explain picky)" "is open, with 0 of 10" "no worker that is online can run it" fpga \
  "dunlin worker --at $url --tag fpga"
submit --name greedy --gpus 3 -- true
says "$("$DUNLIN" explain greedy)" "gpu" "it has 2"
submit --name wide --cpus 9 -- true
says "$("$DUNLIN" explain wide)" "no worker that is online can run it"
start_worker odd --slots 1 --tag fpga
odd=$worker
ends_as done picky
same "$(ran_on picky)" odd,
says "$("$DUNLIN" explain picky)" "done"

# The pool: who is there, and what has become of who is not.
within 60 eval '[ "$("$DUNLIN" pool --quiet | sort | tr "\n" ,)" = big,odd,plain, ]'
line=$("$DUNLIN" pool --json | jq -c 'select(.worker == "big")')
same "$(jq -c '[.v,.state,.slots,.tags,.gpus,.mem_bytes,.pid]' <<<"$line")" \
  "[1,\"online\",4,[\"gpu\",\"org=star\"],2,68719476736,$big]"
stop_worker "$odd"  # Who leaves in order says good-bye.
same "$("$DUNLIN" pool --quiet | sort | tr '\n' ,)" big,plain,
kill_worker "$plain"
within 60 eval '[ "$("$DUNLIN" pool --quiet | tr "\n" ,)" = big, ]'
says "$("$DUNLIN" pool)" offline plain
same "$("$DUNLIN" pool --json | jq -r 'select(.worker == "plain") | .state')" offline
