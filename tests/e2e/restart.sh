# A client that waits in a pull does not notice that its hub died and came back.
source "$(dirname "$0")/lib.sh"
start_hub
wait_in_pull jobs
kill_hub
start_hub --listen "127.0.0.1:$port"
expect 0 "$DUNLIN" store push jobs --body "after the restart"
waiter_got "after the restart"

# A lease outlives the hub, too.
expect 0 "$DUNLIN" store push held --body x --id held
lease=$("$DUNLIN" store pull held --hold 5m --quiet | cut -f 1)
kill_hub
start_hub --listen "127.0.0.1:$port"
same "$("$DUNLIN" store depth held --json)" '{"v":1,"queue":"held","ready":0,"leased":1}'
expect 0 "$DUNLIN" store finish held "$lease"
same "$("$DUNLIN" store depth held --json)" '{"v":1,"queue":"held","ready":0,"leased":0}'
