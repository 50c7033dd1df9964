# A hub under load is killed 15 times at random instants: nothing acknowledged may be lost, nothing
# done twice. SEED=... repeats the choices of a run; KILLS=... makes it shorter or longer.
source "$(dirname "$0")/lib.sh"
seed=${SEED:-$((RANDOM * 32768 + RANDOM))}
kills=${KILLS:-15}
echo "SEED=$seed KILLS=$kills"

"$BUILD/kill_load" "$DUNLIN" "$work/hub" "$work/record" "$kills" "$seed" 2>>hub.log ||
  fail "the load ended early"
start_hub
python3 "$here/kill_check.py" "$DUNLIN" record "$kills" || fail "SEED=$seed"
stop_hub
grep " error " hub.log && fail "the hub logged errors"
expect 0 "$DUNLIN" store check hub
says "$out" "is whole"
echo "$out"
