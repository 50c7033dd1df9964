# With little memory the hub ends connections that make it keep much, not itself.
source "$(dirname "$0")/lib.sh"
ulimit -v $((700 << 10))
start_hub
"$DUNLIN" token --data hub --scope submit,read >writer
timeout 60 python3 "$here/floods.py" frames "$hub" "${url#dunlin://}" "$(<writer)" || fail floods.py
"$DUNLIN" store put t k v
stop_hub
