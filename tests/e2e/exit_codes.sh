# What goes wrong is said on stderr with the object and the next step, and by the exit code.
source "$(dirname "$0")/lib.sh"
export XDG_STATE_HOME=$work/state

# 2: bad usage, refused before anything changes.
expect 2 "$DUNLIN" store
expect 2 "$DUNLIN" store pull
expect 2 "$DUNLIN" store push jobs
says "$err" --body
expect 2 "$DUNLIN" store push 'bad name' --body x
says "$err" '"bad name"'
expect 2 "$DUNLIN" store pull jobs --hold 90
says "$err" '"90"' 90s
expect 2 "$DUNLIN" store pull jobs --max 0
expect 2 "$DUNLIN" store finish jobs one
says "$err" '"one"' ID:TOKEN
expect 2 "$DUNLIN" store put settings key
expect 2 "$DUNLIN" store get settings key --json --quiet
expect 2 "$DUNLIN" store blob put name no-such-file
says "$err" no-such-file
expect 2 "$DUNLIN" store info --at nowhere
says "$err" '"nowhere"' dunlin://
expect 2 "$DUNLIN" store info --at dunlin://127.0.0.1:1 --token-file no-such-token
says "$err" no-such-token
[ ! -e state ] || fail "a refused command left something behind"

# 5: no such thing. Looking makes no store.
expect 5 "$DUNLIN" store info
says "$err" "$work/state/dunlin/store"
[ ! -e state ] || fail "looking made a store"
expect 5 "$DUNLIN" store check nothing
says "$err" nothing

# 0 and 5: the default store is the user's own.
expect 0 "$DUNLIN" store put settings key value
expect 5 "$DUNLIN" store get settings other
says "$err" '"other"' settings

# 4: the wrong token. 3: nobody there any more.
start_hub
echo 0123456789abcdef0123456789abcdef >wrong-token
expect 4 "$DUNLIN" store info --token-file wrong-token
says "$err" "127.0.0.1:$port" token
stop_hub
expect 3 "$DUNLIN" store info
says "$err" "127.0.0.1:$port"

# Nobody listens to what we print: the exit code tells, and nothing is written where it should not be.
export DUNLIN_AT=file:$work/state/dunlin/store
expect 1 bash -c '"$DUNLIN" store get settings key >&-'
expect 1 bash -c '"$DUNLIN" store get settings key >/dev/full'
for printed in version --version help 'help run' 'run --help' 'token --data hub --scope read' 'store --version'; do
  expect 1 bash -c '"$DUNLIN" '"$printed"' >/dev/full'
  says "$err" "dunlin: cannot write to standard output: "
  expect 1 bash -c '"$DUNLIN" '"$printed"' >&-'
  says "$err" "cannot write to standard output"
done
expect 2 bash -c '"$DUNLIN" store pus >/dev/full'
# A hub serves all the same.
"$DUNLIN" hub --data deaf --listen 127.0.0.1:0 >/dev/full 2>deaf.log &
hub=$!
started+=("$hub")
within 60 env -u DUNLIN_AT -u DUNLIN_TOKEN_FILE "$DUNLIN" list
stop_hub
"$DUNLIN" store get settings other 2>&- && fail "a missing row was found"
seq 20000 | "$DUNLIN" store push many --lines --quiet
"$DUNLIN" store pull many --max 10000 --quiet 2>pipe.err | head -n 1 >/dev/null || true
same "$(<pipe.err)" ""
expect 0 "$DUNLIN" store check state/dunlin/store
