# PostgreSQL with synchronous standbys: the leader's machine dies twice in the middle of 50,000 tasks.
# Nothing is lost, each task has one outcome, and the work goes on by itself within 30 s.
source "$(dirname "$0")/../e2e/lib.sh"
source "$here/../engines/postgres.sh"
source "$here/../engines/patroni.sh"
source "$here/../engines/one_outcome.sh"
tasks=${TASKS:-50000}

start_cluster
export DUNLIN_AT=$pg_url
expect 0 "$DUNLIN" store init
for name in w1 w2; do start_worker $name --slots 2 --hold 10s; done
submit_noted "$tasks"

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
check_outcomes "$tasks"
