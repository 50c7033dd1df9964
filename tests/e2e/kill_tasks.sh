# Hub and workers are killed at random instants while jobs of several kinds run: every task ends with
# exactly one outcome, no attempt is used twice. SEED=... repeats the choices of a run; KILLS=... says how
# many workers are killed, HUB_KILLS=... how often the hub is, TASKS=... how large the jobs are,
# ENGINE=postgres that a PostgreSQL server takes the place of the hub.
source "$(dirname "$0")/lib.sh"
seed=${SEED:-$((RANDOM * 32768 + RANDOM))}
kills=${KILLS:-60}
hub_kills=${HUB_KILLS:-8}
tasks=${TASKS:-4000}
echo "SEED=$seed KILLS=$kills HUB_KILLS=$hub_kills TASKS=$tasks"
engine=${ENGINE:-hub}
if [ "$engine" != hub ]; then
  source "$here/../engines/$engine.sh"
  start_engine
else
  start_hub
fi
mkdir tasks

# Each start of a task is a line, written at once, so that lines of several writers stay whole.
note="echo {#} \$DUNLIN_ATTEMPT >>$work/tasks"
submit --name plain --array "0-$((tasks - 1))" -- "$note/plain"
submit --name slow --array "0-$((tasks / 8 - 1))" -- "$note/slow; sleep 0.3"
submit --name flaky --array "0-$((tasks / 20 - 1))" --retries 2 --backoff 50ms -- \
  "$note/flaky; test \$(({#} % 7)) != 0 -o \$DUNLIN_ATTEMPT -gt 2"
submit --name bad --array 0-99 --retries 1 -- "$note/bad; exit 3"
submit --name once --array "0-$((tasks / 10 - 1))" --at-most-once -- "$note/once"
submit --name output --array 0-199 -- "$note/output; head -c 100000 /dev/zero"
submit --name large --lines <(seq -f %0200.0f "$((tasks / 20))") -- "$note/large; test {} -gt 0"
submit --name last --after plain --after large --array 0-299 -- "$note/last"

if [ "$engine" = hub ]; then kill_hub; else kill_engine; fi
python3 "$here/kill_tasks.py" kill "$DUNLIN" "$work" "$DUNLIN_AT" "$seed" "$kills" "$hub_kills" ||
  fail "SEED=$seed: the killing ended early"
if [ "$engine" = hub ]; then start_hub --listen "127.0.0.1:$port"; else restart_engine; fi
for name in w1 w2 w3; do start_worker $name --slots 2 --hold 2s; done
python3 "$here/kill_tasks.py" check "$DUNLIN" "$work" || fail "SEED=$seed"
if [ "$engine" = hub ]; then
  stop_hub
  expect 0 "$DUNLIN" store check hub
  says "$out" "is whole"
fi
