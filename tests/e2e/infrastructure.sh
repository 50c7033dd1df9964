# Workers that follow the advice: more slots when tasks wait, fewer when none do.
source "$(dirname "$0")/lib.sh"
start_hub

# slots NAME: how many the worker has now, as `dunlin pool` says.
slots() { "$DUNLIN" pool --json | jq -r "select(.worker == \"$1\") | .slots"; }
has_slots() { [ "$(slots "$1")" "$2" "$3" ]; }

expect 2 "$DUNLIN" worker --allow-root --max-slots 4
says "$err" --infrastructure
expect 2 "$DUNLIN" worker --allow-root --infrastructure 'a b'
says "$err" 'a b'
expect 2 "$DUNLIN" worker --allow-root --infrastructure lab --slots 8 --max-slots 4
says "$err" '--max-slots 4' '8'
expect 2 "$DUNLIN" worker --allow-root --infrastructure lab --scale-time 1ms
says "$err" '--scale-time'

follow=(--infrastructure lab --slots 1 --max-slots 6 --scale-time 1s)
with_token worker start_worker one "${follow[@]}"
first=$worker
within 60 has_slots one = 1
expect 0 "$DUNLIN" infra --json
same "$(jq -r '[.tenant, .infrastructure, .state, .slots, .max_slots] | @csv' <<<"$out")" \
  '"","lab/one","live",1,6'
expect 0 "$DUNLIN" infra
says "$out" lab/one live

# Far more than one slot can do.
with_token submit submit --array 1-600 -- 'sleep 0.05; echo {}'
within 60 has_slots one = 6
expect 0 "$DUNLIN" wait "$job" --timeout 2m
expect 0 "$DUNLIN" status "$job" --json
same "$(jq -c '[.ok, .failed]' <<<"$out")" '[600,0]'

# Nothing to do any more.
within 60 has_slots one -lt 6

# One that was killed is not counted on, one that leaves is not listed.
with_token worker start_worker two "${follow[@]}"
is_live() { "$DUNLIN" infra --json | grep -q "lab/$1.*live"; }
is_not_live() { ! is_live "$1"; }
within 60 is_live two
kill_worker
within 60 is_not_live two
is_live one || fail "the other one is gone"
stop_worker "$first"
expect 0 "$DUNLIN" infra --json
[[ $out != *lab/one* ]] || fail "it has left and is listed: $out"
