# `dunlin run` killed at random instants, the short form: tests/long/run_kills.sh is the campaign.
source "$(dirname "$0")/lib.sh"
timeout 900 python3 "$here/run_kills.py" "$DUNLIN" "$work/trials" --seed "${SEED:-$RANDOM}" \
  --kills "${KILLS:-27}" || fail "output is missing"
