# A store in PostgreSQL: the contract against a real server, and what a user does with it.
source "$(dirname "$0")/lib.sh"
source "$here/../engines/postgres.sh"

port=$(free_port)
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
