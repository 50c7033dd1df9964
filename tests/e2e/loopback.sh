# Beyond this machine a hub speaks only TLS, unless its user insists.
source "$(dirname "$0")/lib.sh"
expect 4 "$DUNLIN" hub --data hub --listen 0.0.0.0:0
says "$err" 0.0.0.0:0 --tls-cert --insecure
[ ! -e hub ] || fail "a refused hub left something behind"
start_hub --listen 0.0.0.0:0 --insecure
expect 0 "$DUNLIN" store info --at "dunlin://127.0.0.1:$port"
