# Prints the folder of a hub with jobs in all states, as the program in $DUNLIN leaves it when its
# worker was killed: what tests/e2e/older_stores.sh opens. Run it before a format or a protocol changes:
#   DUNLIN=build/release/dunlin bash tests/stores/make.sh >tests/stores/NAME.tar.xz.base64
source "$(dirname "$0")/../e2e/lib.sh"
exec 3>&1 >&2
export DUNLIN_OWNER=ann
submit() { "$DUNLIN" submit --quiet --cwd task --keep forever --key "k-$1" --name "$@" >/dev/null; }
state() { "$DUNLIN" status "$1" --json | jq -e "$2"; }

start_hub --keep forever --keep-failed forever
start_worker one --slots 3 --hold 2s
submit done --array 0-599 -- 'echo {}'
submit failed --array 1-3 --retries 1 -- 'echo out {}; echo err {} >&2; exit {}'
printf 'a\nb b\n"c"\n' >lines
submit lines --lines lines -- printf %s. {}
submit large -- 'head -c 300000 /dev/zero | tr "\0" x'
for job in done lines large; do "$DUNLIN" wait "$job"; done
expect 1 "$DUNLIN" wait failed
submit once --array 1-300 --at-most-once -- 'if [ {} = 7 ]; then sleep 600; fi; echo {}'
submit often --array 1-300 -- 'if [ {} = 7 ]; then [ -f /tmp/never ] || sleep 2; fi; echo {}'
within 60 state once '.ok == 299'
submit iterated --iterations 1000 --partitions 1 -- \
  'n=0; while echo next >&3 && read -r w first count <&3 && [ $w = do ]; do sleep 0.3; n=$((n + count)); done; echo $n'
within 60 state iterated '.iterations.done > 0'
kill_worker
submit waiting --array 0-9 --requires nowhere -- 'echo waited {}'
submit after --after waiting --array 0-1 -- 'echo after {}'
submit cancelled --requires nowhere -- true
"$DUNLIN" cancel cancelled
"$DUNLIN" store put rows key value
"$DUNLIN" store push plain --body text
stop_hub
rm hub/token
ls -lR hub
tar c hub | xz -9e | base64 -w 100 >&3
