# Stand-ins for AWS's services that others wrote, from npm; sourced after tests/e2e/lib.sh.

command -v npm >/dev/null || fail "there is no npm: scripts/test installs it"
standins=$BUILD/aws_standins
if ! cmp -s "$here/../aws_standins/package-lock.json" "$standins/installed"; then
  mkdir -p "$standins"
  cp "$here/../aws_standins/package.json" "$here/../aws_standins/package-lock.json" "$standins"
  (cd "$standins" && npm ci --no-audit --no-fund >npm.log 2>&1) ||
    fail "npm cannot install the stand-ins: $(tail -n 3 "$standins/npm.log")"
  cp "$standins/package-lock.json" "$standins/installed"
fi
cp "$here/../aws_standins/start.mjs" "$standins"

# start_standin NAME [FOLDER]: sets $standin (its address).
start_standin() {
  NODE_NO_WARNINGS=1 node "$standins/start.mjs" "$@" >"$1.out" 2>"$1.log" &
  started+=($!)
  wait_for "$1.out" http://
  standin=$(<"$1.out")
}
