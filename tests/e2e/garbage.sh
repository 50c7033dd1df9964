# Garbage on the port ends that connection with one log line; nobody else notices.
source "$(dirname "$0")/lib.sh"
start_hub
wait_in_pull jobs
head -c 100000 /dev/urandom >garbage
cat garbage >"/dev/tcp/127.0.0.1/$port" 2>/dev/null || true
wait_for hub.log "127.0.0.1"
same "$(grep -vc "jobs are kept\|runs as root" hub.log)" 1
cat hub.log
expect 0 "$DUNLIN" store push jobs --body fine
waiter_got fine
stop_hub
same "$(grep -c "127.0.0.1" hub.log)" 1
