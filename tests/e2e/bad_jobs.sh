# Workers and jobs that cannot be: a clear word, and nothing half-done.
source "$(dirname "$0")/lib.sh"
start_hub

# A worker that does not run as root unless told, nor with nonsense.
if [ "$(id -u)" = 0 ]; then
  expect 4 "$DUNLIN" worker
  says "$err" root --allow-root
fi
expect 2 "$DUNLIN" worker --allow-root --name a/b
says "$err" '"a/b"'
expect 2 "$DUNLIN" worker --allow-root --slots 100000
expect 2 "$DUNLIN" worker --allow-root --hold 5
expect 2 "$DUNLIN" worker --allow-root --hold 10ms
expect 2 "$DUNLIN" worker --allow-root --tag 'a b'
expect 2 "$DUNLIN" worker --allow-root --unknown
expect 3 env -u DUNLIN_AT XDG_STATE_HOME="$work/none" "$DUNLIN" worker --allow-root
says "$err" --at "dunlin hub"
expect 3 "$DUNLIN" worker --allow-root --at dunlin://127.0.0.1:1
says "$err" 127.0.0.1:1
echo wrong >wrong
expect 4 "$DUNLIN" worker --allow-root --token-file wrong
"$DUNLIN" token --data hub --scope read >reader
expect 4 timeout 60 "$DUNLIN" worker --allow-root --token-file reader
touch file
expect 2 "$DUNLIN" worker --allow-root --folder file

# Jobs that are refused before anything is stored.
expect 2 "$DUNLIN" submit --array 0-999999999999 -- true
expect 2 "$DUNLIN" submit --array 9-1 -- true
expect 2 "$DUNLIN" submit --array x -- true
expect 2 "$DUNLIN" submit --array "" -- true
says "$err" "does not consist of numbers from 0 to 9223372036854775807"
expect 2 "$DUNLIN" submit --array=-5-5 -- true
says "$err" "does not consist of numbers"
expect 2 "$DUNLIN" submit --array 0-18446744073709551615 -- true
says "$err" "does not consist of numbers"
expect 2 "$DUNLIN" submit --array 0-9:0 -- true
says "$err" "has the step 0"
expect 2 "$DUNLIN" submit --iterations 9007199254740993 -- true
says "$err" "at most 9007199254740991"
expect 2 "$DUNLIN" run --array "" -- true
expect 2 "$DUNLIN" submit -- ""
expect 2 "$DUNLIN" submit --name a/b -- true
expect 2 "$DUNLIN" submit --priority 10 -- true
expect 2 "$DUNLIN" submit --retry-on 1-x -- true
expect 2 "$DUNLIN" submit --mem much -- true
expect 2 "$DUNLIN" submit --lines /no/such/file -- true
says "$err" /no/such/file
printf '{"argv":["true"]}\n{"argv":\n' >bad.json
expect 2 "$DUNLIN" submit --json-lines bad.json
says "$err" bad.json 2
printf '[[job]]\nname = "a"\ncommand = "true"\n[[job]]\nname = "b"\ncommand = "true"\nretries = -1\n' >bad.toml
expect 2 "$DUNLIN" submit bad.toml
says "$err" bad.toml:7 retries
printf '[[job]]\nname = "a\n' >bad.toml
expect 2 "$DUNLIN" submit bad.toml
says "$err" bad.toml:2
same "$("$DUNLIN" list --quiet)" ""
# More than a worker would take is not even sent.
truncate -s $((64 * 1024 * 1024 + 1)) large
expect 2 "$DUNLIN" submit --stdin large -- wc -c
says "$err" "67108865 bytes" "64 MiB"
expect 2 "$DUNLIN" submit --stdin - -- wc -c <large
expect 2 "$DUNLIN" submit --losses 1 -- true
says "$err" "--losses must be a number of 2 to 1000000, or \"unlimited\""
same "$("$DUNLIN" store blob list --quiet)" ""

# Tasks that cannot be started say so, and do not stop others.
start_worker w1 --slots 2
submit --lines <(printf '/no/such/program\n/etc/passwd\n/bin/true\n') --retries 1 -- {} x
ends_as failed "$job"
same "$("$DUNLIN" results "$job" --json | jq -r .state | tr '\n' ,)" refused,refused,ok,
for job in nobody 0000; do
  for verb in status results wait cancel retry explain; do expect 5 "$DUNLIN" $verb $job; done
done
expect 5 "$DUNLIN" logs last 3
stop_worker
