# 200 random kills (KILL, INT, TERM, HUP, PIPE, a reader that leaves) of `dunlin run` in each of its
# ways to show output, with small and with large outputs; then one output of 1 GB. Nothing may be
# missing.
source "$(dirname "$0")/../e2e/lib.sh"
timeout 3000 python3 "$here/run_kills.py" "$DUNLIN" "$work/trials" --seed "${SEED:-1}" \
  --kills "${KILLS:-200}" || fail "output is missing"
"$DUNLIN" run 'head -c 1000000000 /dev/urandom | tee sum.in; : {}' ::: 1 >sum.out
cmp sum.in sum.out || fail "1 GB is not whole"
