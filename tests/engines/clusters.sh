# RabbitMQ and PostgreSQL on three nodes each, for campaigns; sourced after tests/e2e/lib.sh.
source "$here/../engines/patroni.sh"
source "$here/../engines/rabbit.sh"
source "$here/../engines/one_outcome.sh"

# start_work: the clusters, a store on them, and a job of at least 150 s.
start_work() {
  start_cluster
  start_rabbit_cluster
  export DUNLIN_AT=queue=$rabbit_url,table=$pg_url
  expect 0 "$DUNLIN" store init
  submit_noted 150
}
