# PostgreSQL for rows and blobs, RabbitMQ for hints; sourced after tests/e2e/lib.sh. The words are those
# of postgres.sh.
source "$here/../engines/postgres.sh"
source "$here/../engines/rabbit.sh"

start_engine() {
  port=$(free_ports 1)
  make_postgres "$work/pg"
  start_postgres "$work/pg" "$port"
  start_rabbit
  export DUNLIN_AT=queue=$rabbit_url,table=$pg_url
  export SERVER="${user[*]} $pg_bin/postgres -D $work/pg/data -p $port"
  rabbit_script 0 >rabbit_run
  export QUEUE_SERVER="bash $work/rabbit_run"
  expect 0 "$DUNLIN" store init
}

kill_engine() {
  kill_postgres
  kill_rabbit
}

restart_engine() {
  start_postgres "$work/pg" "$port"
  restart_rabbit
}
