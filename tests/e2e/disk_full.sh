# A full disk stops writing, with an error; reading goes on, and writing does when there is room.
[ -n "${INSIDE:-}" ] || exec env INSIDE=1 unshare --user --map-root-user --mount bash "$0"  # Namespaces.
source "$(dirname "$0")/lib.sh"
small_disk hub -o size=4m
start_hub
expect 0 "$DUNLIN" store put settings key value
head -c 200000 /dev/urandom >bytes

head -c 8M /dev/zero >hub/filler 2>/dev/null && fail "the disk is not small"
written=0  # The log has some room in advance.
while "$DUNLIN" store put settings "big$written" --value-file bytes --quiet >/dev/null 2>full.err; do
  written=$((written + 1))
  [ $written -lt 100 ] || fail "the disk is never full"
done
says "$(<full.err)" "No space left" hub/log
expect 1 "$DUNLIN" store blob put blob bytes
same "$("$DUNLIN" store get settings key --quiet)" value
same "$("$DUNLIN" store scan settings big --quiet | wc -l)" $written

rm hub/filler
within 60 "$DUNLIN" store put settings big --value-file bytes
expect 0 "$DUNLIN" store blob put blob bytes
"$DUNLIN" store blob get blob | cmp - bytes
kill_hub
expect 0 "$DUNLIN" store check hub
says "$out" "1 blob" "hub is whole"
start_hub
same "$("$DUNLIN" store scan settings --quiet | wc -l)" $((written + 2))
same "$("$DUNLIN" store get settings key --quiet)" value
