# PostgreSQL with synchronous standbys: the leader's machine dies twice in the middle of 50,000 tasks.
# Nothing is lost, each task has one outcome, and the work goes on by itself within 30 s.
source "$(dirname "$0")/../e2e/lib.sh"
source "$here/../engines/postgres.sh"
source "$here/../engines/patroni.sh"
tasks=${TASKS:-50000}

start_cluster
export DUNLIN_AT=$pg_url
expect 0 "$DUNLIN" store init
for name in w1 w2; do start_worker $name --slots 2 --hold 10s; done

# Each start is a line, so an outcome can be compared with what really ran.
submit --array "0-$((tasks - 1))" -- "echo {#} \$DUNLIN_ATTEMPT >>$work/started"
ended() { "$DUNLIN" status "$job" --json | jq -r '.ok + .failed'; }
more_than() { [ "$(ended)" -gt "$1" ]; }

for part in 1 3; do
  within 600 more_than $((tasks * part / 5))
  before=$(ended)
  began=$(date +%s)
  kill_leader
  within 60 more_than "$before"
  took=$(($(date +%s) - began))
  echo "leader node$killed died after $before tasks; the work went on after $took s"
  [ $took -le 30 ] || fail "that took too long"
  start_node "$killed"
done
expect 0 timeout 900 "$DUNLIN" wait "$job"
"$DUNLIN" results "$job" --json | jq -r '[.task, .state, .attempt] | @tsv' >results
same "$(cut -f 1 results | sort -n | uniq | wc -l)" "$tasks"
same "$(wc -l <results)" "$tasks"
same "$(cut -f 2 results | sort | uniq -c | awk '{print $2}')" ok
# The attempt that each outcome names did start, and none started twice.
python3 - "$work/started" "$work/results" <<'PY'
import collections, sys
starts = collections.Counter(tuple(map(int, line.split())) for line in open(sys.argv[1]))
twice = [start for start, count in starts.items() if count > 1]
missing = [line for line in open(sys.argv[2])
           if (int(line.split()[0]), int(line.split()[2])) not in starts]
sys.exit(f"twice: {twice[:5]}, never: {missing[:5]}" if twice or missing else 0)
PY
