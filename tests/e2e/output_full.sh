# Where a worker has no room for what a task writes, that is said of the output, and --output-max is not
# blamed. `dunlin run` does not take such a task for done.
[ -n "${INSIDE:-}" ] || exec env INSIDE=1 unshare --user --map-root-user --mount bash "$0"  # Namespaces.
source "$(dirname "$0")/lib.sh"
small_disk w1.folder -o size=8m
start_hub
start_worker w1 --slots 1
expect 6 "$DUNLIN" submit --wait -- 'head -c 20000000 /dev/zero'
[ ${#out} = 0 ] || fail "zeros are no text"
says "$err" "task 0" "incomplete" "No space left"
[[ $err != *--output-max* ]] || fail "--output-max is blamed: $err"
expect 6 "$DUNLIN" results last
says "$("$DUNLIN" results last --json)" '"state":"ok"' stdout_cut "No space left"
expect 6 "$DUNLIN" logs last 0
stop_worker

export XDG_STATE_HOME=$work/w1.folder/state
line=("$DUNLIN" run -j1 'echo {} >>ran; head -c {} /dev/zero' ::: 1000 20000000 2000)
code=0
timeout 60 "${line[@]}" >shown 2>said || code=$?
same "$code" 1
says "$(<said)" "No space left"
mount -o remount,size=100m w1.folder
"${line[@]}" >>shown 2>said
[ "$(wc -c <shown)" -ge 20003000 ] || fail "$(wc -c <shown) bytes were shown"
same "$(grep -c 20000000 ran)" 2
same "$(ls w1.folder/state/dunlin/runs)" ""

# The same if there is no room for the outcomes: it does not wait for ever.
mount -o remount,size=6m w1.folder
line=("$DUNLIN" run -j2 'head -c 50000 /dev/zero | tr "\0" x; echo {}' ::: {1..300})
code=0
timeout 60 "${line[@]}" >shown 2>said || code=$?
same "$code" 1
says "$(<said)" "No space left" "make room"
mount -o remount,size=100m w1.folder
"${line[@]}" >>shown 2>said
same "$(tr -d x <shown | sort -nu | wc -l)" 300
same "$(ls w1.folder/state/dunlin/runs)" ""
