# A hub that is told to stop answers those who wait, ends well, and its store opens clean.
source "$(dirname "$0")/lib.sh"
start_hub
expect 0 "$DUNLIN" store push jobs --body kept
wait_in_pull empty
stop_hub
waiter_got nothing
expect 0 "$DUNLIN" store check hub
says "$out" "hub is whole" "1 message in 1 queue"
start_hub
says "$("$DUNLIN" store pull jobs --json)" '"body":"kept"' '"attempt":1'
