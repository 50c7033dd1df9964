# A flipped bit is found: check says where and exits 1, and the store refuses to open.
source "$(dirname "$0")/lib.sh"
export DUNLIN_AT=file:$work/folder
seq 100 | "$DUNLIN" store push jobs --lines --quiet
seq 100 | "$DUNLIN" store push jobs --lines --quiet
head -c 200000 /dev/urandom | "$DUNLIN" store blob put blob -
expect 0 "$DUNLIN" store check folder
says "$out" "200 messages in 1 queue" "1 blob" "folder is whole"

# flip FILE OFFSET: changes one bit.
flip() {
  local byte
  byte=$(od -An -tu1 -j "$2" -N 1 "$1")
  printf "\\x$(printf %02x $((byte ^ 4)))" | dd of="$1" bs=1 seek="$2" conv=notrunc status=none
}

segment=$(echo folder/log/*.seg)
flip "$segment" 1000
expect 1 "$DUNLIN" store check folder
says "$out" "$segment: damaged at offset " "folder is damaged in 1 place"
expect 1 "$DUNLIN" store check folder --json
says "$out" '"whole":false' "\"file\":\"$segment\""
expect 1 "$DUNLIN" store info
says "$err" "$segment" offset
expect 1 "$DUNLIN" hub --data folder --listen 127.0.0.1:0
says "$err" "$segment" offset
flip "$segment" 1000
expect 0 "$DUNLIN" store check folder

blob=$(echo folder/blobs/*)
flip "$blob" 150000
expect 1 "$DUNLIN" store check folder --quiet
says "$out" "$blob: damaged at offset " "blob blob"
expect 1 "$DUNLIN" store blob get blob copy
[ ! -e copy ] || fail "a damaged blob was handed out as a file"
flip "$blob" 150000
expect 0 "$DUNLIN" store check folder
