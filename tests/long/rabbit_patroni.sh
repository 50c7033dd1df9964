# RabbitMQ and PostgreSQL, three nodes each: the node that leads dies in the middle of 50,000 tasks,
# of one service and then of the other. Nothing is lost, each task has one outcome, and the work goes
# on by itself within 30 s.
source "$(dirname "$0")/../e2e/lib.sh"
source "$here/../engines/postgres.sh"
source "$here/../engines/patroni.sh"
source "$here/../engines/rabbit.sh"
source "$here/../engines/one_outcome.sh"
tasks=${TASKS:-50000}

start_cluster
start_rabbit_cluster
export DUNLIN_AT=queue=$rabbit_url,table=$pg_url
expect 0 "$DUNLIN" store init
for name in w1 w2; do start_worker $name --slots 2 --hold 10s; done
submit_noted "$tasks"

# kill_leader_of SERVICE: its node that leads dies. In $killed.
kill_leader_of() {
  case $1 in
    rabbit)
      within 60 find_rabbit_leader
      killed=$rabbit_leader
      kill_rabbit "$killed"
      ;;
    postgres) kill_leader ;;
  esac
}
start_again() {
  case $1 in
    rabbit) restart_rabbit "$killed" ;;
    postgres) start_node "$killed" ;;
  esac
}

part=1
for service in rabbit postgres rabbit postgres; do
  within 900 more_than $((tasks * part / 6))
  before=$(ended)
  began=$(date +%s)
  kill_leader_of $service
  within 60 more_than "$before"
  took=$(($(date +%s) - began))
  echo "$service: node $killed died after $before tasks; the work went on after $took s"
  [ $took -le 30 ] || fail "that took too long"
  start_again $service
  part=$((part + 1))
done
expect 0 timeout 1200 "$DUNLIN" wait "$job"
check_outcomes "$tasks"
