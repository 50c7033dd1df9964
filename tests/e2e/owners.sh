# Two owners on one hub: each sees and steers what is theirs, by every door, and a hostile client that
# asks for single rows gets none of the other's.
source "$(dirname "$0")/lib.sh"
start_hub --http 127.0.0.1:0
while read -r -t 60 line <&"$hub_output"; do
  case $line in "http on "*) api=${line#http on }/api/v1 && break ;; esac
done
for who in ann bob; do "$DUNLIN" token --data hub --scope submit --owner $who >$who; done
"$DUNLIN" token --data hub --scope read --owner ann >ann.reads
"$DUNLIN" token --data hub --scope worker >worker.token
expect 2 "$DUNLIN" token --data hub --scope worker --owner ann
says "$err" "read and submit only"
expect 2 "$DUNLIN" token --data hub --scope submit --owner a.b
expect 2 "$DUNLIN" token --data hub --scope submit --owner ann --aws
says "$err" --owner
DUNLIN_TOKEN_FILE=worker.token start_worker w --slots 2

as() { DUNLIN_TOKEN_FILE=$work/$1 "${@:2}"; }
# An output that is a row, one that is a blob, an input that is a blob, and a secret in the environment.
head -c 300000 /dev/zero | tr '\0' x >large
submit_all() {
  local who=$1
  job=$(as "$who" "$DUNLIN" submit --quiet --name "$who-job" --key nightly --env "SECRET=$who-secret" \
    --array 0-2 -- sh -c 'echo "$SECRET"; [ {} != 1 ] || yes '"$who"'-row | head -c 3000; [ {} != 2 ] || yes '"$who"'-blob | head -c 200000')
  as "$who" "$DUNLIN" wait "$job" >/dev/null
}
submit_all ann; anns=$job
submit_all bob; bobs=$job
says "$anns" .ann
says "$bobs" .bob
[ "$anns" != "$bobs" ] || fail "two owners' keys met"
same "$(as ann "$DUNLIN" submit --quiet --name ann-job --key nightly --env SECRET=ann-secret --array 0-2 -- sh -c 'echo "$SECRET"; [ {} != 1 ] || yes ann-row | head -c 3000; [ {} != 2 ] || yes ann-blob | head -c 200000')" "$anns"
same "$(as ann "$DUNLIN" submit --wait --stdin large -- wc -c | tr -d ' ')" 300000
expect 4 as ann "$DUNLIN" submit --owner bob -- true
says "$err" "bound to the owner ann"

# Of all of its tasks.
logs() { for task in 0 1 2; do as "$1" "$DUNLIN" logs "$2" "$task"; done; }

# Her own: list, status, results, logs, explain, retry, cancel, remove, history.
same "$(as ann "$DUNLIN" list --json | jq -r .owner | sort -u)" ann
same "$(as bob "$DUNLIN" list --json | jq -r .job)" "$bobs"
same "$("$DUNLIN" list --json | jq -r .owner | sort -u | tr '\n' ' ')" "ann bob "
says "$(logs ann "$anns")" ann-secret ann-row ann-blob
says "$(logs ann ann-job)" ann-secret
expect 0 as ann.reads "$DUNLIN" status "$anns"
expect 4 as ann.reads "$DUNLIN" cancel "$anns"
expect 0 as ann "$DUNLIN" pool
failing=$(as ann "$DUNLIN" submit --quiet -- sh -c 'exit 3')
expect 1 as ann "$DUNLIN" wait "$failing"
expect 0 as ann "$DUNLIN" retry "$failing"
expect 1 as ann "$DUNLIN" wait "$failing"
stuck=$(as ann "$DUNLIN" submit --quiet --requires nowhere -- true)
after=$(as ann "$DUNLIN" submit --quiet --after "$stuck" -- true)
expect 0 as ann "$DUNLIN" explain "$stuck"
expect 0 as ann "$DUNLIN" explain "$after"
expect 0 as ann "$DUNLIN" cancel "$stuck"
ends_as() { [ "$(as ann "$DUNLIN" status "$2" --json | jq -r .state)" = "$1" ]; }
within 30 ends_as skipped "$after"
expect 0 as ann "$DUNLIN" remove "$failing" "$after"
says "$(as ann "$DUNLIN" history --json)" '"owner":"ann"'
expect 0 as bob "$DUNLIN" history --json
same "$out" ""
cat >part <<'END'
#!/bin/sh
while echo next >&3 && read -r word first count <&3 && [ "$word" = do ]; do echo "$first $count"; done
END
chmod +x part
iterative=$(as ann "$DUNLIN" submit --quiet --iterations 100 --partitions 2 --span 100ms -- "$work/part")
expect 0 as ann "$DUNLIN" wait "$iterative"
same "$(as ann "$DUNLIN" status "$iterative" --json | jq .iterations.done)" 100

# His, for her: nothing, by any verb, nor by the wire.
for verb in status results wait cancel retry remove explain logs; do
  expect 5 as ann "$DUNLIN" $verb "$bobs" $([ $verb != logs ] || echo 0)
done
expect 5 as ann "$DUNLIN" status bob-job
expect 5 as ann "$DUNLIN" status "${bobs%%.*}"
expect 0 as ann "$DUNLIN" status "${anns%%.*}"
expect 5 as ann "$DUNLIN" submit --after "$bobs" -- true
denied() {
  expect 4 as ann "$DUNLIN" store "$@"
  case $out$err in *bob-secret* | *bob-row* | *bob-blob*) fail "leaked: $*" ;; esac
}
out_row=$("$DUNLIN" store scan outputs --json | jq -r .key | grep "^$bobs/" | head -1)
out_blob=$("$DUNLIN" store blob list --json | jq -r .name | grep "^jobs/$bobs/" | head -1)
[ -n "$out_row" ] && [ -n "$out_blob" ] || fail "there is no output to steal: $out_row $out_blob"
for row in "jobs $bobs" "ends $bobs" "waits $bobs" "pages $bobs/00000000" "nodes $bobs/1/00000000" \
  "outputs $out_row" "ledgers $bobs" "after $bobs/" "keys bob/nightly" "keys nightly" \
  "expiry 00000000001/$bobs" "history 2026-01-01/bob" "tascaas signing" "retention rule" "_owned bob/$bobs"; do
  [ "$row" = "jobs $bobs" ] || denied get $row
  denied put $row value
  denied erase ${row}
done
expect 5 as ann "$DUNLIN" store get jobs "$bobs"
for table in ends waits pages nodes outputs ledgers after keys expiry routes tascaas _owned settings; do
  denied scan $table
  denied scan $table "$bobs/"
done
same "$(as ann "$DUNLIN" store scan jobs --json | jq -r .key | grep -v '\.ann$' || true)" ""
same "$(as ann "$DUNLIN" store scan jobs "$bobs" --json)" ""
# Each route is for one of them, and absent for the other.
route=
for one in $("$DUNLIN" store scan routes --json | jq -r .key); do
  as bob "$DUNLIN" store get routes "$one" >/dev/null 2>&1 && route=$one || continue
  expect 5 as ann "$DUNLIN" store get routes "$one"
done
[ -n "$route" ] || fail "bob has no route"
denied depth "$route"
denied push "$route" --body forged
denied pull "$route"
denied push "reply.$bobs" --body forged
denied pull "reply.$bobs"
denied blob get "$out_blob"
denied blob put "jobs/$bobs/input/stdin" large
denied blob put data large
denied blob list
denied blob list "jobs/$bobs/"
denied info
expect 0 as ann "$DUNLIN" store blob put owners/ann/large large
same "$(as ann "$DUNLIN" store blob list owners/ann/ --json | jq -r .name)" owners/ann/large
DUNLIN_TOKEN_FILE=bob expect 4 "$DUNLIN" store blob get owners/ann/large
# Changing a token's owner makes it no token.
sed 's/@ann/@bob/' ann >forged
expect 4 as forged "$DUNLIN" list

# By REST.
http() { curl -s -H "Authorization: Bearer $(<"$1")" -o reply -w '%{http_code}' "${@:2}"; }
posted() { http "$1" -H 'Content-Type: application/json' -d "$2" "$api/jobs"; }
same "$(posted ann '{"argv":["true"],"key":"nightly-rest"}')" 201
says "$(jq -r .job reply)" .ann
same "$(posted bob '{"argv":["true"],"key":"nightly-rest"}')" 201
says "$(jq -r .job reply)" .bob
same "$(posted ann '{"argv":["true"],"owner":"bob"}')" 403
same "$(http ann "$api/jobs")" 200
same "$(jq -r '.jobs[].owner' reply | sort -u)" ann
for path in "" /explain /results /tasks/0 /tasks/0/stdout /events; do
  same "$(http ann "$api/jobs/$anns$path" -m 20)" 200
  same "$(http ann "$api/jobs/$bobs$path" -m 20)" 404
done
for path in cancel retry; do same "$(http ann -X POST "$api/jobs/$bobs/$path")" 404; done
same "$(http ann "$api/blobs/$out_blob")" 403
same "$(http ann "$api/infrastructures")" 403
same "$(http ann "$api/health")" 200
# Nothing of it changed what is his.
says "$(logs bob "$bobs")" bob-secret bob-row bob-blob
expect 0 as bob "$DUNLIN" status "$bobs"
stop_worker
stop_hub
! grep -q " error " hub.log || fail "an error in the hub's log"
