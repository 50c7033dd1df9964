# RabbitMQ and PostgreSQL on three machines with networks of their own: the machine that leads is cut
# off from all others in the middle of 50,000 tasks, and comes back; then that which leads the other.
# Nothing is lost, each task has one outcome, and the work goes on by itself within 30 s.
[ -n "${IN_NETWORK:-}" ] || {
  unshare --net true 2>/dev/null || { echo "skipped: may not make networks here (unshare --net)"; exit 77; }
  command -v ip >/dev/null || { echo "skipped: there is no ip: install the package iproute2"; exit 77; }
  IN_NETWORK=1 exec unshare --net bash "$0" "$@"
}
source "$(dirname "$0")/../e2e/lib.sh"
source "$here/../engines/clusters.sh"

# Machine I is a network with the address 10.77.0.(I+1), held by a process; all meet at a bridge. It
# all goes with the processes.
ip link set lo up
ip link add hub0 type bridge || skip "may not make a bridge here"
ip address add 10.77.0.254/24 dev hub0
ip link set hub0 up
for i in 0 1 2; do
  unshare --net sleep infinity &
  holder=$!
  started+=("$holder")
  within 10 eval "[ \"\$(readlink /proc/$holder/ns/net)\" != \"\$(readlink /proc/self/ns/net)\" ]"
  ip link add "cable$i" type veth peer name eth0 netns "$holder"
  ip link set "cable$i" master hub0 up
  node_in[$i]="nsenter --net=/proc/$holder/ns/net"
  ${node_in[$i]} ip link set lo up
  ${node_in[$i]} ip address add "10.77.0.$((i + 1))/24" dev eth0
  ${node_in[$i]} ip link set eth0 up
  node_hosts[$i]=10.77.0.$((i + 1))
done
node_net=10.77.0.0/24
rabbit_hosts=("${node_hosts[@]}") rabbit_in=("${node_in[@]}")

start_work

cut_off() { ip link set "cable$1" down; }

part=1
for service in postgres rabbit; do
  within 600 more_than $((tasks * part / 6))
  within 120 synchronous
  if [ $service = postgres ]; then
    within 60 find_leader
    cut=$leader
  else
    within 60 find_rabbit_leader
    cut=$rabbit_leader
  fi
  goes_wrong "machine $cut, which leads $service, was cut off" cut_off "$cut"
  # It finds out that it is alone, and must not believe that it leads when it comes back.
  sleep 20
  ip link set "cable$cut" up
  within 120 rabbit_listens "$cut"
  part=$((part + 1))
done
ends_well
