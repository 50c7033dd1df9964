# Stand-ins for AWS's services that others wrote, from npm; sourced after tests/e2e/lib.sh.

install_from_npm aws_standins

# start_standin NAME [FOLDER]: sets $standin (its address).
start_standin() {
  NODE_NO_WARNINGS=1 node "$BUILD/aws_standins/start.mjs" "$@" >"$1.out" 2>"$1.log" &
  started+=($!)
  wait_for "$1.out" http://
  standin=$(<"$1.out")
}
