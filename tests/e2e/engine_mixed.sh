# A store of two engines, PostgreSQL and RabbitMQ: the whole contract, and what a user meets.
source "$(dirname "$0")/lib.sh"
source "$here/../engines/mixed.sh"

# What is wrong with a URL is said before anything is done.
bad() {
  expect 2 "$DUNLIN" store info --at "$1"
  says "$err" "$2"
}
bad queue=amqp://127.0.0.1 "no table="
bad table=postgres://a@127.0.0.1/b "no queue="
bad amqp://127.0.0.1 "only a queue"
bad queue=,table=postgres://a@127.0.0.1/b "nothing after queue="
bad queue=amqp://127.0.0.1,table=memory: "has a table= that is not dunlin://HOST:PORT"
bad queue=file:x,table=postgres://a@127.0.0.1/b "neither amqp"
bad queue=amqp://127.0.0.1,queue=amqp://127.0.0.1,table=postgres://a@127.0.0.1/b "twice"
bad queue=amqp://example.org,table=postgres://a@127.0.0.1/b "insecure"

start_engine
DUNLIN_TEST_MIXED=$DUNLIN_AT "$BUILD/engines_test" --gtest_filter='Mixed/*' --gtest_brief=1 >contract.log 2>&1 ||
  fail "$(tail -n 40 contract.log)"

# Where a part is not there, or lets nobody in, it is named.
wrong=${DUNLIN_AT/dunlin:secret@127.0.0.1:${rabbit_ports[0]}/dunlin:wrong@127.0.0.1:${rabbit_ports[0]}}
expect 4 "$DUNLIN" worker --allow-root --at "$wrong"
says "$err" "queue="
expect 4 "$DUNLIN" store init --at "$wrong"
expect 3 "$DUNLIN" store init --at "${DUNLIN_AT/:${rabbit_ports[0]}/:1}"

# A waiting worker starts at once what is submitted: a hint says so, not a look that comes later.
# Fifteen looks, one for each job, would take more than 45 s.
start_worker w1 --slots 2
began=$EPOCHREALTIME
for i in {1..15}; do
  submit -- true
  ends_as "done" "$job"
done
took_ms=$(((${EPOCHREALTIME/./} - ${began/./}) / 1000))
echo "fifteen jobs, one after the other: $took_ms ms"
[ $took_ms -lt 45000 ] || fail "hints do not start jobs"

# Without RabbitMQ work goes on, more slowly.
kill_rabbit
submit --name third --array 0-99 -- true
ends_as done third
restart_rabbit
submit --name fourth --array 0-99 -- true
ends_as done fourth
stop_worker

# It takes its tables with it when it goes.
expect 0 "$DUNLIN" store destroy --yes
expect 2 "$DUNLIN" store info
says "$err" "store init"
