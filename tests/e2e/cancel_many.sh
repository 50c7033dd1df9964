# Many jobs cancelled at once, while their tasks are on their way to the slots, do no harm to workers.
source "$(dirname "$0")/lib.sh"
start_hub
start_worker w1 --slots 2

for round in 1 2 3; do
  jobs=()
  for i in {1..30}; do
    submit -- sh -c 'sleep 1'
    jobs+=("$job")
  done
  expect 0 "$DUNLIN" cancel "${jobs[@]}"
  kill -0 "$worker" 2>/dev/null || fail "the worker is gone in round $round: $(<w1.log)"
done
submit --array 0-9 -- echo {#}
ends_as done "$job"
kill -0 "$worker" 2>/dev/null || fail "the worker is gone: $(<w1.log)"
