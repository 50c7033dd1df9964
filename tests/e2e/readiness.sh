# A service manager is told when the hub serves, and when it stops.
source "$(dirname "$0")/lib.sh"
cat >listener.py <<'PYTHON'
import socket, sys
manager = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
manager.bind(sys.argv[1])
manager.settimeout(60)
print("bound", flush=True)
for _ in range(2):
    print(manager.recv(4096).decode(), flush=True)
PYTHON
python3 listener.py "$work/notify" >told &
listener=$!
started+=("$listener")
wait_for told bound
NOTIFY_SOCKET=$work/notify start_hub
wait_for told READY=1
expect 0 "$DUNLIN" store info
stop_hub
wait "$listener" || fail "the manager was not told that the hub stops: $(<told)"
same "$(tail -n 1 told)" STOPPING=1
