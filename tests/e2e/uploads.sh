# Many large blobs on their way at once: each arrives whole, also if the hub dies in the middle.
# CLIENTS=200 MIB=12 is a busy lab.
source "$(dirname "$0")/lib.sh"
# A client that greets gives a hub 3 s, which 90 of them at once with a sanitizer use up.
most=90
if grep -q __asan_init "$DUNLIN"; then most=30; fi
clients=${CLIENTS:-$most}
mib=${MIB:-3}
head -c "${mib}M" /dev/urandom >bytes
start_hub

# put_all PREFIX: all clients at once; their process ids are in `clients_of`.
put_all() {
  clients_of=()
  for ((i = 0; i < clients; ++i)); do
    timeout 300 "$DUNLIN" store blob put "$1/$i" bytes --quiet >/dev/null 2>"put$i.err" &
    clients_of+=($!)
  done
}

# all_arrived PREFIX: every client ended well, and what it sent is there.
all_arrived() {
  for ((i = 0; i < clients; ++i)); do
    wait "${clients_of[i]}" || fail "client $i: $(<"put$i.err")"
  done
  for ((i = 0; i < clients; ++i)); do
    "$DUNLIN" store blob get "$1/$i" | cmp - bytes || fail "blob $1/$i is not what was sent"
  done
}

put_all calm
all_arrived calm

many_began() { [ "$(find hub/blobs -type f | wc -l)" -gt $((clients + clients / 4)) ]; }
put_all killed
within 60 many_began
kill_hub
start_hub --listen "127.0.0.1:$port"
all_arrived killed
same "$(find hub/blobs -type f | wc -l)" "$((2 * clients))"
