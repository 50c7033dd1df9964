# The user's own hub and its token are found without an option; without one the screen says what to type.
source "$(dirname "$0")/lib.sh"

expect 3 "$DUNLIN" submit -- echo hello
says "$err" "dunlin hub" "dunlin worker" --at "dunlin run"
[ ! -e state ] || fail "a refused submit left something"
expect 3 "$DUNLIN" worker --allow-root
says "$err" "dunlin hub"
expect 3 "$DUNLIN" status

start_hub
unset DUNLIN_AT DUNLIN_TOKEN_FILE
same "$(stat -c %a state/dunlin/hubs/*)" 600
start_worker w1 --slots 1
expect 0 "$DUNLIN" submit --wait -- echo hello
same "$out" hello
expect 0 "$DUNLIN" list --quiet
expect 0 "$DUNLIN" store info
says "$out" "queue"
expect 0 "$DUNLIN" list --at "$url"
expect 0 "$DUNLIN" list --at "dunlin://localhost:$port"

# A named token counts; a wrong one is refused with the way to name another.
echo wrong >wrong
expect 4 "$DUNLIN" list --token-file wrong
says "$err" token --token-file DUNLIN_TOKEN_FILE

# Somebody without the note has no token, and hears how to give one.
expect 4 env XDG_STATE_HOME="$work/other" "$DUNLIN" list --at "$url"
says "$err" "requires a token" --token-file DUNLIN_TOKEN_FILE

# A REST service has its own token by the note, and gives it to no client.
"$DUNLIN" rest --listen 127.0.0.1:0 >rest.out 2>rest.log &
started+=($!)
wait_for rest.out "http on"
base=$(sed -n 's/^http on //p' rest.out)
same "$(curl -s -o /dev/null -w '%{http_code}' "$base/api/v1/jobs")" 401
same "$(curl -s -o /dev/null -w '%{http_code}' -H 'Authorization: Bearer ' "$base/api/v1/jobs")" 401
same "$(curl -s -o /dev/null -w '%{http_code}' -H "Authorization: Bearer $(<hub/token)" "$base/api/v1/jobs")" 200

# Of several the newest; a hub that was killed is not looked at, one that ends takes its note along.
"$DUNLIN" hub --data hub2 --listen 127.0.0.1:0 >hub2.out 2>hub2.log &
second=$!
started+=("$second")
wait_for hub2.out "token in $work/hub2/token"
same "$("$DUNLIN" list --quiet)" ""
second_note=$(grep -l "^$second\$" state/dunlin/hubs/*)
cp "$second_note" second_note
kill -9 "$second"
wait "$second" || true
[ -n "$("$DUNLIN" list --quiet)" ] || fail "the hub that runs is not found"

# Not even when its number is another process's by now: whoever listens at its address gets no token.
python3 - >heard 2>listener.log <<'END' &
import socket
listener = socket.create_server(("127.0.0.1", 0))
print(listener.getsockname()[1], flush=True)
while True:
    connection, _ = listener.accept()
    connection.settimeout(5)
    try:
        while piece := connection.recv(4096):
            print(piece, flush=True)
    except OSError:
        pass
END
started+=($!)
wait_for heard '^[0-9]'
false_port=$(<heard)
sleep 1000 &
number=$!
started+=("$number")
note=state/dunlin/hubs/$(basename "$second_note" | sed 's/@.*//')@127.0.0.1:$false_port
(
  umask 077
  sed "1s|.*|dunlin://127.0.0.1:$false_port|; 4s/.*/$number/" second_note >"$note"
  sed "1s|.*|dunlin://127.0.0.1:$false_port|; 4s/.*/$number/; 5d" second_note >"state/dunlin/hubs/127.0.0.1:$false_port"
)
same "$(sed -n 4p "$note")" "$number"
[ -n "$("$DUNLIN" list --quiet)" ] || fail "the hub that runs is not found"
"$DUNLIN" list --at "dunlin://127.0.0.1:$false_port" >/dev/null 2>&1 &
started+=($!)
within 60 grep -q DUNLIN heard
sleep 0.2  # The hello follows at once.
! grep -qF "$(<hub2/token)" heard || fail "a stranger got the token"
rm "$note" "state/dunlin/hubs/127.0.0.1:$false_port"
kill_worker
stop_hub
same "$(ls state/dunlin/hubs | wc -l)" 1
expect 3 "$DUNLIN" list
says "$err" "no hub running on this machine"

# Who wants none leaves none.
"$DUNLIN" hub --data hub3 --listen 127.0.0.1:0 --no-note >hub3.out 2>hub3.log &
started+=($!)
wait_for hub3.out token
expect 3 "$DUNLIN" list
