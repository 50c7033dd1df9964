# Jobs through the command line while no worker is there: submit in its forms, look, wait, cancel.
source "$(dirname "$0")/lib.sh"
start_hub

# Nothing is submitted of what is wrong. That needs no hub.
expect 2 "$DUNLIN" submit --at memory: -- true
says "$err" "dunlin hub" "dunlin run"
for words in '--array 3-1' '--timeout 5' '--retries x'; do
  expect 2 env -u DUNLIN_AT XDG_STATE_HOME="$work/none" "$DUNLIN" submit $words -- true
done
expect 2 "$DUNLIN" submit
says "$err" "no command" "--"
expect 2 "$DUNLIN" submit -- ""
expect 2 "$DUNLIN" submit --unknown -- true
expect 2 "$DUNLIN" submit --name a/b -- true
says "$err" '"a/b"'
expect 2 "$DUNLIN" submit --array 0-999999999999 -- true
says "$err" 1000000000000
expect 2 "$DUNLIN" submit --timeout 5 -- true
expect 2 "$DUNLIN" submit --at-most-once --relaxed -- true
expect 5 "$DUNLIN" submit --after nobody -- true
says "$err" '"nobody"'
printf '[[job]]\ncommand = "true"\n\n[[job]]\ncomand = "true"\n' >bad.toml
expect 2 "$DUNLIN" submit bad.toml
says "$err" bad.toml:5 comand
same "$("$DUNLIN" list --quiet)" ""

# Words after -- are taken as they are.
same "$("$DUNLIN" submit --dry-run -- echo '[a,b]' --wait -- '{}')" \
  "echo '[a,b]' --wait -- '{}'"
same "$(printf 'x y\nz\n' | "$DUNLIN" submit --lines - --dry-run -- echo {})" "echo 'x y'
echo z"

# Ten million tasks are one message.
big=$("$DUNLIN" submit --quiet --name big --array 0-9999999 -- ./sim --seed {})
says "$("$DUNLIN" status big)" "$big (big)" open "10000000: 0 ok, 0 failed, 10000000 to go"
says "$("$DUNLIN" explain big)" "no worker is online" "dunlin worker --at $url"
says "$("$DUNLIN" results "$big" --task 9999999 --json)" '"task":9999999,"state":"waiting"'
same "$("$DUNLIN" results "$big" --json)" ""
expect 5 "$DUNLIN" logs big 0
expect 1 "$DUNLIN" wait big --timeout 50ms
says "$err" "$big" "has not ended"
expect 1 "$DUNLIN" retry big
says "$("$DUNLIN" pool)" "no workers"

# The same key is the same job.
seq 1000 >lines
keyed=$("$DUNLIN" submit --quiet --lines lines --key night -- echo {})
same "$("$DUNLIN" submit --quiet --lines lines --key night -- echo {})" "$keyed"
echo 1001 >>lines
expect 1 "$DUNLIN" submit --lines lines --key night -- echo {}
says "$err" night "$keyed"

# What comes after a cancelled job is skipped.
printf '[[job]]\nname = "one"\ncommand = "true"\n[[job]]\nname = "two"\ncommand = "true"\nafter = ["one"]\n' >jobs.toml
"$DUNLIN" submit jobs.toml >/dev/null
same "$("$DUNLIN" status two --quiet)" waiting
says "$("$DUNLIN" explain two)" "waits for 1 job" "is open"
says "$("$DUNLIN" cancel one)" "cancelled job"
says "$("$DUNLIN" cancel one)" "has already ended"
expect 1 "$DUNLIN" wait one two
says "$out" "was cancelled" "was skipped: job"
same "$("$DUNLIN" list --state skipped --json | grep -c '"name":"two"')" 1
same "$("$DUNLIN" list --state open --quiet | wc -l | tr -d ' ')" 2
same "$("$DUNLIN" list --max 1 --quiet)" "$("$DUNLIN" status last --json | sed 's/.*"job":"\([^"]*\)".*/\1/')"

# Jobs outlive the hub; a token that only reads may look but not submit.
kill_hub
start_hub
same "$("$DUNLIN" status "$big" --quiet)" open
"$DUNLIN" token --data hub --scope read >reader
expect 0 "$DUNLIN" explain big --token-file reader
expect 4 "$DUNLIN" submit --token-file reader -- true
expect 4 "$DUNLIN" cancel big --token-file reader
expect 0 "$DUNLIN" cancel big
