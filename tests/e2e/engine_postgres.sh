# A store in PostgreSQL: the contract against a real server, and what a user does with it.
source "$(dirname "$0")/lib.sh"
source "$here/../engines/postgres.sh"

port=$(free_ports 1)
make_postgres "$work/pg"
start_postgres "$work/pg" "$port"

# Nothing works before the schema is there; making it twice is fine.
expect 2 "$DUNLIN" store info --at "$pg_url"
says "$err" "dunlin store init"
expect 0 "$DUNLIN" store init --at "$pg_url"
says "$out" "ready"
expect 0 "$DUNLIN" store init --at "$pg_url"
says "$out" "already"

DUNLIN_TEST_POSTGRES=$pg_url "$BUILD/engines_test" --gtest_brief=1 --gtest_filter='Postgres*' \
  >contract.log 2>&1 || fail "$(grep -m20 -B2 -A12 'Failure\|FAILED' contract.log)"
# Races are not lost at the first try.
DUNLIN_TEST_POSTGRES=$pg_url "$BUILD/engines_test" --gtest_brief=1 --gtest_repeat=5 \
  --gtest_filter='Postgres*Racing*:Postgres*ManyIncrement*:Postgres*OfTwo*' >races.log 2>&1 ||
  fail "$(grep -m20 -B2 -A12 'Failure\|FAILED' races.log)"

# What can be wrong, and what is said about it.
expect 4 "$DUNLIN" store info --at "${pg_url/secret/wrong}"
says "$err" "refused the user" "password"
[[ $err != *wrong* ]] || fail "the password is shown: $err"
expect 2 "$DUNLIN" store info --at "${pg_url%/*}/nowhere"
says "$err" "nowhere" "createdb"
expect 3 timeout 60 "$DUNLIN" store info --at "postgres://dunlin@127.0.0.1:$(free_ports 1)/postgres"
says "$err" "cannot reach" "refused"
expect 2 "$DUNLIN" store info --at "$pg_url#not-there"
says "$err" "no store in the schema not-there" "dunlin store init"
expect 2 "$DUNLIN" store info --at "$pg_url#a b"
says "$err" "after '#'"
sql() { PGPASSWORD=secret "$pg_bin/psql" -qtAX -h 127.0.0.1 -p "$port" -U dunlin postgres -c "$1"; }
sql 'create schema other; create table other.things (a int)'
expect 1 "$DUNLIN" store init --at "$pg_url#other"
says "$err" "belongs to another program"
expect 1 "$DUNLIN" store destroy --yes --at "$pg_url#other"
same "$(sql 'select count(*) from other.things')" 0
sql 'update dunlin.meta set version = 0'
expect 2 "$DUNLIN" store info --at "$pg_url"
says "$err" "version 0" "migrates"
sql 'update dunlin.meta set version = 99'
expect 2 "$DUNLIN" worker --allow-root --at "$pg_url"
says "$err" "newer Dunlin"
sql 'update dunlin.meta set version = 2'
# A store of the first version is brought up to date, and keeps what it has.
expect 0 "$DUNLIN" store push --at "${pg_url}" old --id m1 --body kept
sql 'alter table dunlin.messages drop column step, drop column note, drop column nonce,
     drop column kept; update dunlin.meta set version = 1'
expect 2 "$DUNLIN" store info --at "$pg_url"
says "$err" "version 1" "migrates"
expect 0 "$DUNLIN" store init --at "$pg_url"
expect 0 "$DUNLIN" store pull --at "$pg_url" old --hold 60s
says "$out" kept
sql "create role guest login password 'guest'"
expect 4 "$DUNLIN" store info --at "${pg_url/dunlin:secret/guest:guest}"
says "$err" "may not use the schema dunlin"

# A host that takes connections and says nothing costs seconds, no more.
mkfifo silent.port
python3 -c 'import socket, time
silent = socket.create_server(("127.0.0.1", 0))
print(silent.getsockname()[1], flush=True)
time.sleep(600)' >silent.port &
started+=("$!")
read -r silent <silent.port
expect 0 timeout 60 "$DUNLIN" store info --at "${pg_url/@/@127.0.0.1:$silent,}"

# Two schemas are two stores; destroying one leaves the other alone.
expect 0 "$DUNLIN" store init --at "$pg_url#lab"
expect 0 "$DUNLIN" store put --at "$pg_url#lab" t k lab
expect 0 "$DUNLIN" store put --at "$pg_url" t k main
expect 0 "$DUNLIN" store destroy --yes --at "$pg_url#lab"
expect 2 "$DUNLIN" store info --at "$pg_url#lab"
expect 0 "$DUNLIN" store get --at "$pg_url" t k
says "$out" main

# A worker that waits starts at once what is submitted, and survives the server's restart.
export DUNLIN_AT=$pg_url
start_worker w1 --slots 1
submit -- true
ends_as done "$job"
kill_postgres
start_postgres "$work/pg" "$port"
submit -- 'echo after'
ends_as done "$job"
same "$(of "$job" 0 stdout)" "after"
stop_worker

# Jobs go by the rule of the store. Here a worker sees to it.
says "$("$DUNLIN" store keep 2s)" "2s"
start_worker w2 --slots 1
submit --array 0-599 -- 'echo {#}'
ends_as done "$job"
gone() { ! "$DUNLIN" status "$job"; }
within 60 gone
same "$("$DUNLIN" store scan pages --quiet)" ""
stop_worker
