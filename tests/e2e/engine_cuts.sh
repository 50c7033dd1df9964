# Connections are cut at random places while tasks run: what was answered and what was not looks the
# same to whoever asked, and still every task ends with exactly one outcome. ENGINES=... says where,
# CUTS=... how often, SEED=... repeats the choices.
source "$(dirname "$0")/lib.sh"
seed=${SEED:-$((RANDOM * 32768 + RANDOM))}
cuts=${CUTS:-60}
export PATIENCE=$((cuts < 200 ? 120 : cuts * 6 / 10)) # Each cut costs a part of a second.
echo "SEED=$seed CUTS=$cuts"

# start_proxy NAME PORT MEAN_BYTES: takes the place of the port in DUNLIN_AT and the endpoint.
start_proxy() {
  rm -f "$1.out"
  python3 "$here/../engines/cuts.py" "$2" "$seed" "$3" "$cuts" >"$1.out" 2>"$1.log" &
  proxies+=("$!")
  started+=("$!")
  wait_for "$1.out" .
  DUNLIN_AT=${DUNLIN_AT/:$2/:$(head -1 "$1.out")}
  DUNLIN_AWS_ENDPOINT=${DUNLIN_AWS_ENDPOINT/:$2/:$(head -1 "$1.out")}
}

# enough_cuts NAME LEAST
enough_cuts() {
  echo "$engine: $(grep -c cut "$1.out") cuts"
  [ "$(grep -c cut "$1.out")" -ge "$2" ] || fail "$engine: too few cuts"
}

DUNLIN_AWS_ENDPOINT=
for engine in ${ENGINES:-hub postgres mixed aws}; do
  mkdir tasks
  proxies=()
  bytes=6000  # Between two cuts, on average. Larger requests must have a chance.
  if [ "$engine" = hub ]; then
    start_hub
  else
    bytes=40000
    source "$here/../engines/$engine.sh"
    start_engine
    [ "$engine" != aws ] || bytes=150000  # Bytes in base64, and rows of messages.
  fi
  direct=$DUNLIN_AT
  direct_aws=$DUNLIN_AWS_ENDPOINT
  export DUNLIN_AT DUNLIN_AWS_ENDPOINT
  [ "$engine" = aws ] && front=$aws_port || front=$port
  start_proxy cuts "$front" "$bytes"
  [ "$engine" != mixed ] || start_proxy queue_cuts "${rabbit_ports[0]}" 4000
  note="echo {#} \$DUNLIN_ATTEMPT >>$work/tasks"
  submit --name plain --array 0-1999 -- "$note/plain"
  submit --name slow --array 0-99 -- "$note/slow; sleep 0.1"
  submit --name flaky --array 0-199 --retries 2 --backoff 50ms -- \
    "$note/flaky; test \$(({#} % 7)) != 0 -o \$DUNLIN_ATTEMPT -gt 2"
  submit --name bad --array 0-49 --retries 1 -- "$note/bad; exit 3"
  submit --name once --array 0-199 --at-most-once -- "$note/once"
  submit --name output --array 0-99 -- "$note/output; head -c 100000 /dev/zero"
  submit --name large --lines <(seq -f %0200.0f 200) -- "$note/large; test {} -gt 0"
  submit --name last --after plain --after large --array 0-99 -- "$note/last"
  workers=()
  for name in w1 w2 w3; do
    start_worker $name --slots 2 --hold 2s
    workers+=("$worker")
  done
  DUNLIN_AT=$direct DUNLIN_AWS_ENDPOINT=$direct_aws python3 "$here/kill_tasks.py" check "$DUNLIN" "$work" || fail "$engine SEED=$seed"
  for worker in "${workers[@]}"; do stop_worker "$worker"; done
  enough_cuts cuts $((cuts / 4))
  [ "$engine" != mixed ] || enough_cuts queue_cuts 1
  kill "${proxies[@]}"
  wait "${proxies[@]}" 2>/dev/null || true
  if [ "$engine" = hub ]; then kill_hub; else kill_engine; fi
  rm -rf tasks hub pg rabbit0
done
