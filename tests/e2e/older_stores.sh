# Folders of hubs that earlier programs left in the middle of their work (tests/stores) open, tell what
# has ended as it was, and finish what has not.
source "$(dirname "$0")/lib.sh"
export DUNLIN_OWNER=ann

results() { "$DUNLIN" results "$1" --json | jq -r "$2" | grep . | sort -n; }
counts() { same "$("$DUNLIN" status "$1" --json | jq -r '"\(.state) \(.ok) \(.failed)"')" "$2"; }

check_what_has_ended() {
  counts done "done 600 0"
  same "$(results done .stdout)" "$(seq 0 599)"
  counts failed "failed 0 3"
  same "$(results failed '"\(.exit) \(.attempt) \(.stdout)\(.stderr)"')" "$(
    for i in 1 2 3; do printf '%s\n' "$i 2 out $i" "err $i"; done | sort -n)"
  same "$("$DUNLIN" logs lines 1)" "b b."
  "$DUNLIN" logs large 0 | cmp - <(head -c 300000 /dev/zero | tr '\0' x)
  counts cancelled "cancelled 0 0"
  says "$("$DUNLIN" store get rows key)" value
  same "$("$DUNLIN" store depth plain --json | jq .ready)" 1
}

check_what_goes_on() {
  start_worker two --slots 2 --tag nowhere
  "$DUNLIN" wait waiting after often iterated || fail "not all is well"
  expect 1 "$DUNLIN" wait once
  counts once "failed 299 1"
  same "$(results once 'select(.state != "ok") | "\(.task) \(.state)"')" "6 lost"
  counts often "done 300 0"
  same "$(results often .stdout)" "$(seq 300)"
  same "$("$DUNLIN" results iterated --json | jq -s 'map(.stdout | tonumber) | add')" 1000
  same "$("$DUNLIN" status after --json | jq -r .ok)" 2
}

for store in "$here"/../stores/*.base64; do
  base64 -d "$store" | tar xJ
  expect 0 "$DUNLIN" store check hub
  start_hub
  check_what_has_ended
  id=$("$DUNLIN" status done --json | jq -r .job)
  same "$("$DUNLIN" submit --quiet --cwd task --keep forever --key k-done --name done --array 0-599 -- \
    'echo {}')" "$id"
  check_what_goes_on
  "$DUNLIN" retry failed
  expect 1 "$DUNLIN" wait failed
  same "$(results failed .attempt | sort -u)" 4
  "$DUNLIN" remove done
  expect 5 "$DUNLIN" status "$id"
  stop_worker
  stop_hub
  expect 0 "$DUNLIN" store check hub
  rm -r hub
done
