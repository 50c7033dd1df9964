# Three PostgreSQL nodes with synchronous standbys under Patroni, and the three etcd nodes that it
# needs. Sourced after tests/e2e/lib.sh.
#
# Patroni talks to etcd by its older interface (v2). With the newer one Patroni before 3.0.3 (Debian 12
# has 3.0.2) overwrites the lock of the new leader when an old one comes back from where it was cut off
# (https://github.com/patroni/patroni/pull/2689), and PostgreSQL loses what it had acknowledged.
source "$here/../engines/postgres.sh"

# Where the nodes are, and what runs a command there: a test with networks of its own says otherwise.
node_hosts=(127.0.0.1 127.0.0.1 127.0.0.1)
node_in=("" "" "")
node_net=127.0.0.1/32  # Who may connect.

start_etcd() {
  local i cluster=""
  for i in 0 1 2; do cluster+="e$i=http://${node_hosts[$i]}:${etcd_ports[$((i + 3))]},"; done
  for i in 0 1 2; do
    # shellcheck disable=SC2086
    ${node_in[$i]} etcd --name "e$i" --data-dir "$work/etcd$i" --initial-cluster-state new --enable-v2 \
      --listen-client-urls "http://${node_hosts[$i]}:${etcd_ports[$i]}" \
      --advertise-client-urls "http://${node_hosts[$i]}:${etcd_ports[$i]}" \
      --listen-peer-urls "http://${node_hosts[$i]}:${etcd_ports[$((i + 3))]}" \
      --initial-advertise-peer-urls "http://${node_hosts[$i]}:${etcd_ports[$((i + 3))]}" \
      --initial-cluster "${cluster%,}" >>"$work/etcd$i.log" 2>&1 &
    started+=("$!")
  done
}

# start_node I: writes its configuration if there is none.
start_node() {
  local folder=$work/node$1
  if [ ! -e "$folder" ]; then
    mkdir -p "$folder"
    cat >"$folder/patroni.yml" <<YML
scope: dunlin
name: node$1
restapi: { listen: ${node_hosts[$1]}:${rest_ports[$1]}, connect_address: ${node_hosts[$1]}:${rest_ports[$1]} }
etcd: { hosts: [${node_hosts[0]}:${etcd_ports[0]}, ${node_hosts[1]}:${etcd_ports[1]}, ${node_hosts[2]}:${etcd_ports[2]}] }
bootstrap:
  dcs:
    ttl: 20
    loop_wait: 2
    retry_timeout: 5
    master_start_timeout: 0
    synchronous_mode: true
    postgresql:
      use_pg_rewind: true
      parameters: { max_connections: 100, wal_level: replica, hot_standby: "on" }
  initdb: [ { encoding: UTF8 }, data-checksums ]
  pg_hba: [ host all all $node_net scram-sha-256, host replication all $node_net scram-sha-256 ]
postgresql:
  listen: ${node_hosts[$1]}:${pg_ports[$1]}
  connect_address: ${node_hosts[$1]}:${pg_ports[$1]}
  data_dir: $folder/data
  bin_dir: $pg_bin
  pgpass: $folder/pgpass
  authentication:
    superuser: { username: dunlin, password: secret }
    replication: { username: copy, password: secret }
    rewind: { username: rewind, password: secret }
  parameters: { unix_socket_directories: $folder }
YML
    [ "$(id -u)" = 0 ] && chown -R postgres "$folder"
  fi
  # shellcheck disable=SC2086
  ${node_in[$1]} ${user[@]+"${user[@]}"} env HOME="$folder" patroni "$folder/patroni.yml" \
    >>"$work/node$1.log" 2>&1 &
  nodes[$1]=$!
  started+=("$!")
}

leads() { curl -sf -m 2 -o /dev/null "http://${node_hosts[$1]}:${rest_ports[$1]}/leader"; }
# The node that leads, in $leader.
find_leader() {
  for leader in 0 1 2; do leads $leader && return 0; done
  return 1
}
synchronous() {
  curl -sf -m 2 "http://${node_hosts[0]}:${rest_ports[0]}/cluster" | jq -e \
    '[.members[] | select(.role == "sync_standby" and (.state == "running" or .state == "streaming"))] | length >= 1'
}

# kill_node I: the whole machine, as it were: Patroni and its PostgreSQL with -9.
kill_node() {
  kill -9 "${nodes[$1]}" "$(head -1 "$work/node$1/data/postmaster.pid")"
  wait "${nodes[$1]}" 2>/dev/null || true
}

# leader_dies: while there is work, and comes back when that has gone on. REQUIRES: one_outcome.sh.
leader_dies() {
  within 120 synchronous
  within 60 find_leader
  local node=$leader
  goes_wrong "PostgreSQL's leader, node $node, died" kill_node "$node"
  start_node "$node"
}

# Sets pg_url, which names all three; first the one that leads, because it is the one to die.
start_cluster() {
  local ports hosts=""
  nodes=()
  chmod 755 "$work"
  read -ra ports <<<"$(free_ports 12)"
  etcd_ports=("${ports[@]:0:6}") pg_ports=("${ports[@]:6:3}") rest_ports=("${ports[@]:9:3}")
  start_etcd
  for i in 0 1 2; do start_node $i; done
  within 90 find_leader
  within 90 synchronous
  for i in "$leader" $(((leader + 1) % 3)) $(((leader + 2) % 3)); do
    hosts+=,${node_hosts[$i]}:${pg_ports[$i]}
  done
  pg_url=postgres://dunlin:secret@${hosts#,}/postgres
}
