# RabbitMQ nodes of our own, for tests: on loopback, on free ports, in the test's folder. Sourced
# after tests/e2e/lib.sh.
#
# Node I has its folder in $work/rabbitI and its process in ${rabbits[I]}. The user dunlin, whose
# password is secret, may do everything; poor, of the same password, may use the vhost / but has no
# permission there. There is a vhost lab.2 as well. With $rabbit_certificate and $rabbit_key a single
# node takes TLS too.

rabbit_server=/usr/lib/rabbitmq/bin/rabbitmq-server
[ -x "$rabbit_server" ] || fail "there is no RabbitMQ server: install the package rabbitmq-server"

rabbits=()
# Where the nodes are: a test with networks of its own says otherwise, and what runs a command there.
rabbit_hosts=(127.0.0.1 127.0.0.1 127.0.0.1)
rabbit_in=("" "" "")

rabbit_name() {
  if [ "${rabbit_hosts[$1]}" = 127.0.0.1 ]; then echo "r$1@localhost"; else echo "r$1@${rabbit_hosts[$1]}"; fi
}

# make_rabbits COUNT: their ports and settings. More than one are a cluster.
make_rabbits() {
  local i peer folder ports
  rabbit_count=$1
  read -ra ports <<<"$(free_ports 7)"
  rabbit_ports=("${ports[@]:0:3}") rabbit_distribution_ports=("${ports[@]:3:3}")
  rabbit_epmd_port=${ports[6]}
  for ((i = 0; i < rabbit_count; ++i)); do
    folder=$work/rabbit$i
    mkdir -p "$folder"
    echo DUNLINTEST >"$folder/.erlang.cookie" && chmod 400 "$folder/.erlang.cookie"
    echo '[].' >"$folder/plugins" && : >"$folder/env.conf"
    cat >"$folder/definitions.json" <<JSON
{"users": [{"name": "dunlin", "password": "secret", "tags": "administrator"},
           {"name": "poor", "password": "secret", "tags": ""}],
 "vhosts": [{"name": "/"}, {"name": "lab.2"}],
 "permissions": [
   {"user": "dunlin", "vhost": "/", "configure": ".*", "write": ".*", "read": ".*"},
   {"user": "dunlin", "vhost": "lab.2", "configure": ".*", "write": ".*", "read": ".*"},
   {"user": "poor", "vhost": "/", "configure": "^$", "write": "^$", "read": "^$"}]}
JSON
    cat >"$folder/rabbitmq.conf" <<CONF
listeners.tcp.default = ${rabbit_hosts[$i]}:${rabbit_ports[$i]}
load_definitions = $folder/definitions.json
cluster_partition_handling = pause_minority
disk_free_limit.absolute = 50MB
raft.wal_max_size_bytes = 16000000
CONF
    [ "$rabbit_count" = 1 ] && continue
    echo 'cluster_formation.peer_discovery_backend = classic_config' >>"$folder/rabbitmq.conf"
    for ((peer = 0; peer < rabbit_count; ++peer)); do
      echo "cluster_formation.classic_config.nodes.$((peer + 1)) = $(rabbit_name $peer)"
    done >>"$folder/rabbitmq.conf"
  done
}

# rabbit_command I: in $command, what stands before a program to run it as node I or as its tool.
rabbit_command() {
  local folder=$work/rabbit$1 longname=false
  [ "${rabbit_hosts[$1]}" = 127.0.0.1 ] || longname=true
  read -ra command <<<"${rabbit_in[$1]}"
  command+=(env HOME="$folder" ERL_EPMD_PORT="$rabbit_epmd_port"
    ERL_EPMD_ADDRESS="${rabbit_hosts[$1]}" RABBITMQ_NODENAME="$(rabbit_name "$1")"
    RABBITMQ_USE_LONGNAME=$longname RABBITMQ_CONF_ENV_FILE="$folder/env.conf"
    RABBITMQ_NODE_IP_ADDRESS="${rabbit_hosts[$1]}" RABBITMQ_NODE_PORT="${rabbit_ports[$1]}"
    RABBITMQ_DIST_PORT="${rabbit_distribution_ports[$1]}" RABBITMQ_MNESIA_BASE="$folder/mnesia"
    RABBITMQ_LOG_BASE="$folder/log" RABBITMQ_PID_FILE="$folder/pid"
    RABBITMQ_ENABLED_PLUGINS_FILE="$folder/plugins" RABBITMQ_CONFIG_FILE="$folder/rabbitmq")
}

# rabbit_script I: prints a script that becomes the node.
rabbit_script() {
  local command inet=${rabbit_hosts[$1]//./,}
  rabbit_command "$1"
  # RUNNING_UNDER_SYSTEMD: the script becomes the server, so its process is the one to kill.
  command+=(RUNNING_UNDER_SYSTEMD=true
    RABBITMQ_SERVER_ADDITIONAL_ERL_ARGS="-start_epmd false
    -kernel inet_dist_use_interface {$inet} +sbwt none +sbwtdcpu none +sbwtdio none"
    "$rabbit_server")
  echo "exec $(printf '%q ' "${command[@]}")"
}

# start_rabbit_node I: returns at once.
start_rabbit_node() {
  rabbit_script "$1" >"$work/rabbit$1.run"
  bash "$work/rabbit$1.run" </dev/null >>"$work/rabbit$1.log" 2>&1 &
  rabbits[$1]=$!
  started+=("$!")
}

# start_rabbit_mapper I: the port mapper that a node would else leave behind in the background.
start_rabbit_mapper() {
  local command
  rabbit_command "$1"
  "${command[@]}" epmd -port "$rabbit_epmd_port" </dev/null >>"$work/epmd.log" 2>&1 &
  started+=("$!")
}

rabbit_listens() {
  kill -0 "${rabbits[$1]}" 2>/dev/null || fail "RabbitMQ ended: $(tail -n 20 "$work/rabbit$1.log")"
  # shellcheck disable=SC2086
  ${rabbit_in[$1]} bash -c ": </dev/tcp/${rabbit_hosts[$1]}/${rabbit_ports[$1]}"
}

# rabbit_ctl I ARGUMENTS...
rabbit_ctl() {
  local command
  rabbit_command "$1"
  "${command[@]}" /usr/lib/rabbitmq/bin/rabbitmqctl "${@:2}"
}

# rabbit_keeps I QUEUE: RabbitMQ 3.10 writes down a moment later which files are a new quorum
# queue's. If it is killed before, the queue comes back empty and never has a leader.
rabbit_keeps() {
  local file
  for file in names meta; do grep -q -- "$2" "$work/rabbit$1"/mnesia/*/quorum/*/$file.dets || return 1; done
}

# kill_rabbit [I]
kill_rabbit() {
  kill -9 "${rabbits[${1:-0}]}"
  wait "${rabbits[${1:-0}]}" 2>/dev/null || true
}

restart_rabbit() {
  start_rabbit_node "${1:-0}"
  within 300 rabbit_listens "${1:-0}"
}

# find_rabbit_leader: the node that leads most of the queues, in $rabbit_leader.
find_rabbit_leader() {
  local i name
  for ((i = 0; i < rabbit_count; ++i)); do
    name=$(rabbit_ctl $i --silent list_queues leader 2>/dev/null | grep -o 'r[0-9]@' | sort |
      uniq -c | sort -rn | awk 'NR == 1 {print $2}') || continue
    [ -n "$name" ] || continue
    rabbit_leader=${name:1:1}
    return 0
  done
  return 1
}

# start_rabbit: a single node. Sets rabbit_url, and rabbit_tls_url if there is a certificate.
start_rabbit() {
  make_rabbits 1
  if [ -n "${rabbit_certificate:-}" ]; then
    cat >>"$work/rabbit0/rabbitmq.conf" <<CONF
listeners.ssl.default = 127.0.0.1:${rabbit_ports[1]}
ssl_options.certfile = $rabbit_certificate
ssl_options.keyfile = $rabbit_key
CONF
    rabbit_tls_url="amqps://dunlin:secret@127.0.0.1:${rabbit_ports[1]}/?ca=$rabbit_certificate"
  fi
  start_rabbit_mapper 0
  restart_rabbit 0
  rabbit_url=amqp://dunlin:secret@127.0.0.1:${rabbit_ports[0]}/
}

# start_rabbit_cluster: three. Sets rabbit_url, which names all of them.
start_rabbit_cluster() {
  local i hosts="" insecure=""
  make_rabbits 3
  for i in 0 1 2; do
    [ $i -gt 0 ] && [ "${rabbit_hosts[$i]}" = "${rabbit_hosts[0]}" ] || start_rabbit_mapper $i
    [ "${rabbit_hosts[$i]}" = 127.0.0.1 ] || insecure="?insecure=1"
    hosts+=,${rabbit_hosts[$i]}:${rabbit_ports[$i]}
  done
  for i in 0 1 2; do start_rabbit_node $i; done
  for i in 0 1 2; do within 300 rabbit_listens $i; done
  rabbit_url=amqp://dunlin:secret@${hosts#,}/$insecure
}
