# A folder has one owner at a time; the second is told who the first is.
source "$(dirname "$0")/lib.sh"
start_hub
expect 4 "$DUNLIN" hub --data hub --listen 127.0.0.1:0
says "$err" hub "process $hub" "stop it first"
expect 4 "$DUNLIN" store info --at "file:$work/hub"
says "$err" "process $hub"
expect 4 "$DUNLIN" store check hub
says "$err" "process $hub"
kill_hub
expect 0 "$DUNLIN" store check hub
expect 0 "$DUNLIN" store info --at "file:$work/hub"
