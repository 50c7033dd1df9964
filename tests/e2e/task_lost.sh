# Workers that die with their tasks: at-most-once, and a task that takes its workers with it.
source "$(dirname "$0")/lib.sh"
start_hub

# Once: what a killed worker ran is run again, as a larger attempt. At most once: never again.
mkfifo begun
start_worker w1 --slots 2 --hold 1s
submit --name again -- "echo \$DUNLIN_ATTEMPT >>$work/again; echo >$work/begun; exec sleep \
  \$((DUNLIN_ATTEMPT == 1 ? 1000 : 0))"
read -r -t 20 <begun
kill_worker
submit --name once --at-most-once -- "echo \$DUNLIN_ATTEMPT >>$work/once; echo >$work/begun; \
  exec sleep \$((DUNLIN_ATTEMPT == 1 ? 1000 : 0))"
cat begun >/dev/null &  # For the second attempt of the first.
started+=($!)
start_worker w2 --slots 2 --hold 1s
ends_as done again
same "$(tr '\n' , <again)" 1,2,
same "$(of again 0 '|[.attempt,.worker]|tojson')" '[2,"w2"]'
