# A folder that cannot be written is said to be so, by name.
[ -n "${INSIDE:-}" ] || exec env INSIDE=1 unshare --user --map-root-user --mount bash "$0"  # Namespaces.
source "$(dirname "$0")/lib.sh"
small_disk disk
expect 0 "$DUNLIN" store put settings key value --at "file:$work/disk/store"
mount -o remount,ro disk
expect 4 "$DUNLIN" store get settings key --at "file:$work/disk/store"
says "$err" disk/store "Read-only"
expect 4 "$DUNLIN" store put settings key value --at "file:$work/disk/new"
says "$err" disk/new "Read-only"
expect 4 "$DUNLIN" hub --data disk/hub --listen 127.0.0.1:0
says "$err" disk/hub "Read-only"
# What cannot be written can be checked all the same.
expect 0 "$DUNLIN" store check disk/store
says "$out" "is whole" "without a lock"
expect 0 "$DUNLIN" store check disk/store --json
same "$(jq .locked <<<"$out")" false
