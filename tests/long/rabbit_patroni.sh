# RabbitMQ and PostgreSQL, three nodes each: the node that leads dies in the middle of 50,000 tasks, of
# one service and then of the other, twice; and then all of RabbitMQ. Nothing is lost, each task has
# one outcome, and the work goes on by itself within 30 s.
source "$(dirname "$0")/../e2e/lib.sh"
source "$here/../engines/clusters.sh"

start_work

kill_all_rabbits() { for i in 0 1 2; do kill_rabbit $i; done; }

part=1
for service in rabbit postgres rabbit postgres; do
  within 600 more_than $((tasks * part / 10))
  if [ $service = postgres ]; then
    leader_dies
  else
    within 60 find_rabbit_leader
    goes_wrong "RabbitMQ's leader, node $rabbit_leader, died" kill_rabbit "$rabbit_leader"
    restart_rabbit "$rabbit_leader"
  fi
  part=$((part + 1))
done
goes_wrong "all nodes of RabbitMQ died" kill_all_rabbits
for i in 0 1 2; do start_rabbit_node $i; done
for i in 0 1 2; do within 120 rabbit_listens $i; done
ends_well
