# A PostgreSQL server of our own, for tests: on loopback, on a free port, in a temporary folder.
# Sourced after tests/e2e/lib.sh.

pg_bin=$(ls -d /usr/lib/postgresql/*/bin 2>/dev/null | sort -V | tail -1)
[ -n "$pg_bin" ] || fail "there is no PostgreSQL server: install the package postgresql-15"

# It refuses to run as root.
as_user() { if [ "$(id -u)" = 0 ]; then runuser -u postgres -- "$@"; else "$@"; fi; }

free_port() {
  python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])'
}

# make_postgres FOLDER: a cluster with the role dunlin, whose password is secret.
make_postgres() {
  mkdir -p "$1" && chmod 755 "$work"
  [ "$(id -u)" = 0 ] && chown postgres "$1"
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
  as_user "$pg_bin/postgres" -D "$1/data" -p "$2" >>"$work/postgres.log" 2>&1 &
  pg_starter=$!
  within 20 as_user "$pg_bin/pg_isready" -q -h 127.0.0.1 -p "$2"
  pg_pid=$(head -1 "$1/data/postmaster.pid")
  started+=("$pg_pid")
  pg_url=postgres://dunlin:secret@127.0.0.1:$2/postgres
}

# After kill -9 its children must be gone before it is started again.
kill_postgres() {
  local children
  children=$(pgrep -P "$pg_pid" | tr '\n' ' ')
  kill -9 "$pg_pid"
  wait "$pg_starter" 2>/dev/null
  for child in $children; do within 10 eval "! kill -0 $child 2>/dev/null"; done
}
