# What tasks print: bytes as they are, small and large, cut with a mark where the limit is.
source "$(dirname "$0")/lib.sh"
start_hub
start_worker w1 --slots 2

# One task: its words, its errors, its result.
submit --name one -- sh -c 'echo out; echo err >&2'
ends_as done one
same "$("$DUNLIN" logs one 0)" out
same "$("$DUNLIN" logs one 0 --stderr)" err
same "$("$DUNLIN" results one --quiet)" out
says "$("$DUNLIN" results one)" TASK ok w1 out
line=$("$DUNLIN" results one --json)
same "$(jq -c '[.v,.task,.state,.exit,.attempt,.stdout,.stderr,.worker]' <<<"$line")" \
  '[1,0,"ok",0,1,"out\n","err\n","w1"]'
same "$(jq '.created_us <= .received_us and .received_us <= .started_us and
  .started_us <= .ended_us and .ended_us <= .committed_us' <<<"$line")" true

# submit --wait prints and tells by its exit code.
expect 0 "$DUNLIN" submit --wait -- sh -c 'echo here; echo there >&2'
same "$out" here
says "$err" there
expect 1 "$DUNLIN" submit --wait -- sh -c 'echo before; exit 3'
same "$out" before
expect 1 "$DUNLIN" submit --wait --quiet -- /no/such/program
says "$("$DUNLIN" results last --failed)" refused "/no/such/program"

# All 256 bytes, in each of the places that outputs are kept in: page, row, blob.
for i in {0..255}; do printf "\\x$(printf %02x "$i")"; done >bytes
for times in 1 20 800; do
  for ((i = 0; i < times; i++)); do cat bytes; done >big.$times
  submit --stdin big.$times -- sh -c 'tee /dev/stderr'
  ends_as done "$job"
  "$DUNLIN" logs "$job" 0 | cmp - big.$times || fail "stdout of $times pieces"
  "$DUNLIN" logs "$job" 0 --stderr | cmp - big.$times || fail "stderr of $times pieces"
done
same "$(of "$job" 0 '|[.stdout_size,.stderr_size,.stdout_cut,.stdout]|tojson')" \
  '[204800,204800,null,null]'
"$DUNLIN" store blob get "$(of "$job" 0 stdout_blob)" | cmp - big.800

# More than --output-max: the beginning, and how much is gone. The task goes on to its end.
submit --output-max 1M -- sh -c 'head -c 100000000 /dev/zero; echo done >&2'
ends_as done "$job"
same "$(of "$job" 0 '|[.state,.stdout_size,.stdout_cut,.stderr]|tojson')" \
  '["ok",1048576,98951424,"done\n"]'
expect 0 "$DUNLIN" logs "$job" 0 --stderr
{ "$DUNLIN" logs "$job" 0 2>cut.err || echo $? >cut.code; } | cmp -n 1048576 - /dev/zero
says "$(<cut.err)" "stdout is incomplete" "94.4 MiB" --output-max
same "$(<cut.code)" 6
expect 6 "$DUNLIN" results "$job"
says "$out" "94.4 MiB are missing"
says "$err" "task 0" "incomplete" --output-max
expect 6 "$DUNLIN" submit --wait --output-max 1K -- sh -c 'head -c 5000 /dev/zero | tr "\0" x'
same "${#out}" 1024
says "$err" "after 1.0 KiB another 3.9 KiB are missing" --output-max
expect 1 "$DUNLIN" submit --wait --output-max 1K -- sh -c 'head -c 5000 /dev/zero | tr "\0" x; exit 3'
stop_worker
[ -z "$(ls w1.folder)" ] || fail "the worker left files: $(ls w1.folder)"
