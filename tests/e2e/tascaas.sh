# TaScaaS's life cycle by curl alone: two services on one store (a hub, or ENGINE of tests/engines), two
# infrastructures, a job whose partitions report, one infrastructure and one service killed in the
# middle, and what is left then.
source "$(dirname "$0")/lib.sh"

# start_rest NAME OPTIONS...: sets $base, and $rest to its pid.
start_rest() {
  local name=$1
  shift
  rm -f "$name.out"
  "$DUNLIN" rest "$@" >"$name.out" 2>>"$name.log" &
  rest=$!
  started+=("$rest")
  wait_for "$name.out" "http on"
  base=$(sed -n 's/^http on //p' "$name.out")
}

# ask PATH: what the service at $base says; fails on any status but 200.
ask() { curl -sS --fail-with-body --retry 5 --retry-connrefused --max-time 60 "$base/test/$1"; }

# partition URL ID WORKER NITER WID: works in steps that take a second by its own clock, until it has
# done its share, and uploads how much that was.
partition() {
  local data=$1 id=$2 worker=$3 wid=$5 done=0 dt=0 assigned url
  curl -sS --fail --retry 3 -o "data.$wid.$worker" "$data" || return 1
  cmp -s "data.$wid.$worker" water.in || return 1
  assigned=$(ask "lb/$id/start?worker=$worker&dt=0" | sed -n 's/^ Assigned: //p')
  while ((done < assigned)); do
    done=$((done + 50)) dt=$((dt + 1))
    assigned=$(ask "lb/$id/report?worker=$worker&nIter=$done&dt=$dt" | sed -n 's/^ Assigned: //p')
    [ -n "$assigned" ] || return 1
    if [ "$wid" = "${victim:-}" ]; then
      echo "$worker" >>stuck
      exec sleep 1000
    fi
  done
  [ "$(ask "lb/$id/finish?worker=$worker&nIter=$done&dt=$((dt + 1))")" = 0 ] || return 1
  url=$(ask "results/upload/$id/$worker?wID=$wid")
  echo "$done" >"results.$wid.$worker"
  curl -sS --fail -X PUT -T "results.$wid.$worker" -H 'Expect: 100-continue' "$url"
}

# infrastructure ID: lives, fetches partitions and runs them, until it is killed or told to leave.
infrastructure() {
  local id=$1 config
  trap 'ask "node/$id/disconnect"; exit 0' TERM
  while true; do
    ask "node/$id/update?slots=2" >/dev/null
    for config in $(ask "node/$id/jobs?slots=1" | jq -c '.configs[]?'); do
      echo "$(jq -r '.ID + " " + .worker' <<<"$config")" >>"handed.$id"
      partition "$(jq -r '."data-url"' <<<"$config")" "$(jq -r .ID <<<"$config")" \
        "$(jq -r .worker <<<"$config")" "$(jq -r .nIter <<<"$config")" "$id" &
    done
    sleep 0.2
  done
}

state_is() { [ "$("$DUNLIN" tenant jobs physics --json | jq -r 'select(.file == "water.config").state')" = "$1" ]; }

if [ -n "${ENGINE:-}" ]; then
  source "$here/../engines/$ENGINE.sh"
  start_engine
else
  start_hub
fi
secret=$("$DUNLIN" tenant add physics --scale-time 1s --max-partitions 8 --start-time 60s --quiet)
expect 1 "$DUNLIN" tenant add physics
says "$err" "already"
expect 2 "$DUNLIN" tenant add biology --max-partitions 0
says "$("$DUNLIN" tenant list)" physics

head -c 300000 /dev/urandom >water.in
echo '{"iterations": 6000, "time": 600, "inputFile": "water.in", "initWorkers": 4}' >water.config
echo '{"iterations": 6000, "time": 600, "inputFile": "nothing"}' >broken.config
expect 1 "$DUNLIN" tenant put physics water.config water.in broken.config
says "$err" broken.config nothing
says "$("$DUNLIN" tenant files physics)" input/water.in input/refused/broken.config
says "$("$DUNLIN" tenant jobs physics --quiet)" "water.config waiting" "broken.config refused"

start_rest one --listen "127.0.0.1:$(free_ports 1)"
one=$rest one_base=$base
start_rest two --listen 127.0.0.1:0
two=$rest two_base=$base

says "$(curl -s "$one_base/x/node/register?secret=wrong&slots=1&maxSlots=1")" Unauthorized
base=$one_base
doomed=$(ask "node/register?secret=$secret&slots=1&maxSlots=2" | jq -r .id)
base=$two_base
other=$(ask "node/register?secret=$secret&slots=1&maxSlots=2" | jq -r .id)
same "$("$DUNLIN" infra --json | jq -r .state | sort -u)" live

# The first one hangs in its first partition. It is killed with its partitions, and the service that it
# spoke to.
base=$one_base victim=$doomed
infrastructure "$doomed" >doomed.log 2>&1 &
daemon=$!
started+=("$daemon")
wait_for stuck .
base=$two_base victim=
infrastructure "$other" >other.log 2>&1 &
second=$!
started+=("$second")
for pid in "$daemon" $(pgrep -P "$daemon"); do
  kill -9 "$pid" || [ "$pid" != "$daemon" ] # What it runs for a moment may have ended.
done
kill -9 "$one"

# The other service and the other infrastructure carry on, with all of it.
within 60 state_is done
lost=$(sort -u stuck)
[ -n "$lost" ] || fail "nothing was lost"
job=$("$DUNLIN" tenant jobs physics --json | jq -r 'select(.state == "done").job')
status=$("$DUNLIN" tenant jobs physics --json | jq -c 'select(.state == "done")')
(($(jq .done <<<"$status") >= 6000)) || fail "less done than asked: $status"
same "$(jq '.partitions == .finished' <<<"$status")" true

# Each partition that was needed has its results, which add up, and was handed out once, but for what was
# lost.
needed=$("$DUNLIN" tenant jobs physics "$job" --json | jq -r 'select(.state != "spare").partition')
is_spare() { ! grep -qx "$1" <<<"$needed"; }
uploaded() { "$DUNLIN" tenant files physics --quiet | grep -c "results/$job/worker-[0-9]*/$1"; }
all_there() { [ "$(uploaded results.dat)" = "$(wc -l <<<"$needed")" ]; }
within 60 all_there
same "$(uploaded balance.rep)" "$(wc -l <<<"$needed")"
sum=0
for i in $needed; do
  "$DUNLIN" tenant get physics "output/results/$job/worker-$i/results.dat" -o out --quiet
  sum=$((sum + $(<out)))
done
same "$sum" "$(jq .done <<<"$status")"
same "$(sort "handed.$other" | uniq -d)" ""
for worker in $(cut -d ' ' -f 2 "handed.$doomed"); do
  is_spare "$worker" || grep -q " $worker\$" "handed.$other" || fail "partition $worker was not handed out again"
done
first=$(head -n 1 <<<"$needed")
says "$("$DUNLIN" tenant get physics "output/results/$job/worker-$first/balance.rep")" "$job" "worker $first"

# The first service comes back and knows everything. Who leaves is forgotten at once.
start_rest one --listen "${one_base#http://}"
same "$base" "$one_base"
same "$(ask "node/$other/update" | jq -r .scaleTime)" 1
kill -TERM "$second"
wait "$second" || fail "the infrastructure did not leave: $(<other.log)"
same "$("$DUNLIN" infra --quiet | grep -c "$other" || true)" 0
same "$(curl -s -o /dev/null -w '%{http_code}' "$base/node/$other/update")" 401
same "$(curl -s -o /dev/null -w '%{http_code}' "$base/signed/physics/input/water.in?expires=9999999999&signature=00")" 403

"$DUNLIN" tenant remove physics >/dev/null
same "$("$DUNLIN" store blob list --quiet | wc -l)" 0
same "$("$DUNLIN" store scan tascaas --quiet | wc -l)" 1 # The key of signed URLs.
kill -TERM "$rest" "$two"
wait "$rest" "$two" || fail "a service ended with $?"
! grep -q " error " ./*.log || fail "an error in a log"
