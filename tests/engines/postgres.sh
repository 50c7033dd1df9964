# A PostgreSQL server of our own, for tests: on loopback, on a free port, in a temporary folder.
# Sourced after tests/e2e/lib.sh.

pg_bin=$(ls -d /usr/lib/postgresql/*/bin 2>/dev/null | sort -V | tail -1)
[ -n "$pg_bin" ] || fail "there is no PostgreSQL server: install the package postgresql-15"

# It refuses to run as root. In a namespace of the test's own (INSIDE) there is nobody else, so it gets
# one in which that user has another number.
user=() owner=
if [ -n "${INSIDE:-}" ]; then
  user=(unshare --user --map-user=1 --map-group=1)
elif [ "$(id -u)" = 0 ]; then
  user=(setpriv --reuid=postgres --regid=postgres --clear-groups) owner=postgres
fi
as_user() { ${user[@]+"${user[@]}"} "$@"; }

# make_postgres FOLDER: a cluster with the role dunlin, whose password is secret.
make_postgres() {
  mkdir -p "$1" && chmod 755 "$work"
  [ -z "$owner" ] || chown "$owner" "$1"
  echo secret >"$1/password" && chmod 644 "$1/password"
  as_user "$pg_bin/initdb" -D "$1/data" -U dunlin -A scram-sha-256 --pwfile="$1/password" \
    --no-instructions >"$work/initdb.log" 2>&1 || fail "initdb: $(tail -3 "$work/initdb.log")"
  cat >>"$1/data/postgresql.conf" <<CONF
listen_addresses = '127.0.0.1'
unix_socket_directories = '$1'
log_min_messages = fatal
CONF
}

# start_postgres FOLDER PORT: sets pg_pid and pg_url.
start_postgres() {
  ${user[@]+"${user[@]}"} "$pg_bin/postgres" -D "$1/data" -p "$2" >>"$work/postgres.log" 2>&1 &
  pg_pid=$!
  started+=("$pg_pid")
  pg_url=postgres://dunlin:secret@127.0.0.1:$2/postgres
  within 180 "$pg_bin/pg_isready" -q -h 127.0.0.1 -p "$2"
}

# After kill -9 its children must be gone before it is started again.
kill_postgres() {
  local child children
  children=$(pgrep -P "$pg_pid" | tr '\n' ' ')
  kill -9 "$pg_pid"
  wait "$pg_pid" 2>/dev/null || true
  for child in $children; do within 60 eval "! kill -0 $child 2>/dev/null"; done
}

# The same words for every engine: a fresh store, which is the default one from here on. SERVER is
# what starts the server.
start_engine() {
  port=$(free_ports 1)
  make_postgres "$work/pg"
  start_postgres "$work/pg" "$port"
  export DUNLIN_AT=$pg_url
  export SERVER="${user[*]} $pg_bin/postgres -D $work/pg/data -p $port"
  expect 0 "$DUNLIN" store init
}
kill_engine() { kill_postgres; }
restart_engine() { start_postgres "$work/pg" "$port"; }
