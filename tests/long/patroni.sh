# PostgreSQL with synchronous standbys: the leader's machine dies twice in the middle of 50,000 tasks.
# Nothing is lost, each task has one outcome, and the work goes on by itself within 30 s.
source "$(dirname "$0")/../e2e/lib.sh"
source "$here/../engines/patroni.sh"
source "$here/../engines/one_outcome.sh"

start_cluster
export DUNLIN_AT=$pg_url
expect 0 "$DUNLIN" store init
submit_noted 100

for part in 1 2; do
  within 600 more_than $((tasks * part / 4))
  leader_dies
done
ends_well
