# Hints over RabbitMQ, against a real server that is also killed and started again.
source "$(dirname "$0")/lib.sh"
source "$here/../engines/rabbit.sh"

certificate rabbit
rabbit_certificate=$work/rabbit.pem rabbit_key=$work/rabbit.key
start_rabbit

# run_test FILTER
run_test() {
  "$BUILD/engines_test" --gtest_brief=1 --gtest_filter="$1" >test.log 2>&1 ||
    fail "$(grep -m20 -B2 -A12 'Failure\|FAILED\|CHECK\|ERROR' test.log)"
}
export DUNLIN_TEST_AMQP=$rabbit_url DUNLIN_TEST_AMQPS=$rabbit_tls_url
run_test 'Amqp.*:AmqpTls.*'

# The test asks for a restart by the name of its queue, and goes on when it gets a line back.
mkfifo asked answered
cat >ask.sh <<'ASK'
echo "$1" >asked
read -r line <answered
ASK
DUNLIN_TEST_RESTART="bash ask.sh" run_test 'AmqpRestart.*' &
test=$!
read -r -t 60 queue <asked || fail "the test did not come to the restart: $(<test.log)"
within 60 rabbit_keeps 0 "$queue"
kill_rabbit
restart_rabbit
echo "done" >answered
wait "$test"
