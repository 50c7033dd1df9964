# Sourced by every test: a folder of its own, a hub and workers of its own, and what to expect of a
# command.
set -euo pipefail
: "${DUNLIN:?names the dunlin program to test}"
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
work=$(mktemp -d "${TMPDIR:-/tmp}/dunlin-e2e-XXXXXX")
cd "$work"
unset DUNLIN_AT DUNLIN_TOKEN_FILE DUNLIN_DATA DUNLIN_LISTEN DUNLIN_ALLOW_ROOT
export XDG_STATE_HOME=$work/state
started=()
mounted=

# Whether a process is a child of this test: numbers of those that have ended are used again.
is_mine() { grep -qs "^PPid:[[:space:]]*$$\$" "/proc/$1/status"; }

clean_up() {
  local code=$?
  if [ "$code" != 0 ] && [ "$code" != 77 ]; then
    tail -n 40 ./*.log ./*.err >&2 2>/dev/null || true
  fi
  for pid in ${started[@]+"${started[@]}"}; do
    is_mine "$pid" && kill -9 "$pid" 2>/dev/null && wait "$pid" 2>/dev/null || true
  done
  # What those have started, and the tasks of workers that were killed.
  for pid in $(grep -lzs "=$work/" /proc/[0-9]*/environ | cut -d / -f 3); do
    [ "$pid" = "$BASHPID" ] || kill -9 "$pid" 2>/dev/null || true
  done
  cd /
  if [ -n "$mounted" ]; then umount "$work/$mounted"; fi
  rm -rf "$work"
}
trap clean_up EXIT

fail() { echo "FAILED: $*" >&2; exit 1; }
skip() { echo "skipped: $*"; exit 77; }

# expect CODE COMMAND...: runs it; leaves its output in $out and its complaint in $err.
expect() {
  local want=$1 code=0
  shift
  out=$("$@" 2>"$work/.err") || code=$?
  err=$(<"$work/.err")
  [ "$code" = "$want" ] || fail "exit $code instead of $want: $* | $out | $err"
  [ "$want" = 0 ] || [ -n "$out$err" ] || fail "no word of explanation: $*"
}

# says TEXT WORDS...: each of the words is in the text.
says() {
  local text=$1
  shift
  for words in "$@"; do [[ $text == *"$words"* ]] || fail "no \"$words\" in: $text"; done
}

same() { [ "$1" = "$2" ] || fail "\"$1\" is not \"$2\""; }

# wait_for FILE WORDS: until the file has a line with them, for at most a minute.
wait_for() {
  touch "$1"
  timeout 60 grep -qm1 -- "$2" <(tail -n +1 -f --pid=$$ "$1" 2>/dev/null) || fail "no \"$2\" in $1"
}

# small_disk FOLDER OPTIONS...: a file system of its own there. REQUIRES: a test that begins with
# the line for namespaces, as disk_full.sh does.
small_disk() {
  mkdir "$1"
  mount -t tmpfs "${@:2}" dunlin-test "$1" || skip "cannot mount a file system here"
  mounted=$1
}

# within SECONDS COMMAND...: until it succeeds. For what tells nobody when it happens. The seconds are
# for what never happens: a busy machine may take most of a minute for what is quick.
within() {
  local deadline=$((SECONDS + $1))
  shift
  until "$@" >/dev/null 2>&1; do
    [ $SECONDS -lt $deadline ] || fail "not in time: $*"
    sleep 0.05
  done
}

# find_keeper PID: sets `keeper`, the process that ends what PID's tasks leave behind. It gets its name a
# moment after it was forked.
find_keeper() {
  within 60 pgrep -P "$1" -x dunlin-keeper
  keeper=$(pgrep -P "$1" -x dunlin-keeper)
}

# free_ports COUNT: ports of 127.0.0.1, all different, for servers that are killed and come back. They are
# below those that connections get (32768 and up): while a server is away nobody takes its port, nor
# does a client that tries to connect meet itself.
free_ports() {
  python3 -c 'import random, socket, sys
sockets = []
while len(sockets) < int(sys.argv[1]):
    s = socket.socket()
    try:
        s.bind(("127.0.0.1", random.randrange(10000, 32768)))
        sockets.append(s)
    except OSError:
        pass
print(*(s.getsockname()[1] for s in sockets))' "$1"
}

# certificate NAME: for 127.0.0.1, in ./NAME.pem, and its key in ./NAME.key.
certificate() {
  openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 2 -subj "/CN=$1" \
    -addext subjectAltName=IP:127.0.0.1 -keyout "$1.key" -out "$1.pem" 2>openssl.err ||
    fail "$(<openssl.err)"
}

# install_from_npm NAME: tests/NAME with the packages that it needs, in $BUILD/NAME. Tests that run at
# the same time take turns.
install_from_npm() (
  command -v npm >/dev/null || fail "there is no npm: scripts/test installs it"
  mkdir -p "$BUILD/$1"
  cd "$BUILD/$1"
  exec {lock}>lock
  flock "$lock"
  cp "$here/../$1"/* .
  if ! cmp -s package-lock.json installed; then
    npm ci --no-audit --no-fund >npm.log 2>&1 || fail "npm cannot install $1: $(tail -n 3 npm.log)"
    cp package-lock.json installed
  fi
)

# start_hub OPTIONS...: on a free port unless told otherwise, with its data in ./hub, its log in
# ./hub.log. Returns when it listens. Sets $hub (pid), $url and $port, and makes it the default store.
start_hub() {
  local line listen=()
  if [[ " $* " != *" --listen "* ]]; then listen=(--listen "127.0.0.1:$(free_ports 1)"); fi
  rm -f hub.out
  mkfifo hub.out
  "$DUNLIN" hub --data hub ${listen[@]+"${listen[@]}"} "$@" >hub.out 2>>hub.log &
  hub=$!
  started+=("$hub")
  exec {hub_output}<hub.out
  read -r -t 60 line <&"$hub_output" || fail "the hub did not start: $(<hub.log)"
  says "$line" "listening on dunlin"
  url=${line#listening on }
  port=${url##*:}
  export DUNLIN_AT=$url DUNLIN_TOKEN_FILE=$work/hub/token
}

# with_token SCOPE COMMAND...: with a token of the hub in ./hub that has this scope and no more.
with_token() {
  [ -f "$1.token" ] || "$DUNLIN" token --data "$work/hub" --scope "$1" >"$work/$1.token"
  DUNLIN_TOKEN_FILE=$work/$1.token "${@:2}"
}

stop_hub() {
  kill -TERM "$hub"
  wait "$hub" || fail "the hub ended with $?"
}

kill_hub() {
  kill -9 "$hub"
  wait "$hub" 2>/dev/null || true
}

# wait_in_pull QUEUE: a client of the hub that waits, in the background. Returns when it does. Its
# output goes to ./waiter.out; sets $waiter (pid).
wait_in_pull() {
  "$BUILD/wait_pull" "$url" "$DUNLIN_TOKEN_FILE" "$1" >waiter.out 2>waiter.err &
  waiter=$!
  started+=("$waiter")
  wait_for waiter.out waiting
}

# waiter_got TEXT: it ended well, and that is what it got.
waiter_got() {
  wait "$waiter" || fail "the waiting client ended with $?: $(<waiter.err)"
  same "$(tail -n 1 waiter.out)" "$1"
}

# start_worker NAME OPTIONS...: with its folder in ./NAME.folder and its log in ./NAME.log. Returns when
# it has begun. Sets $worker (pid).
start_worker() {
  local name=$1
  shift
  rm -f "$name.out"
  "$DUNLIN" worker --allow-root --name "$name" --folder "$work/$name.folder" "$@" >"$name.out" \
    2>>"$name.log" &
  worker=$!
  started+=("$worker")
  wait_for "$name.out" "worker $name"
}

# start_skewed_worker SECONDS NAME OPTIONS...: one whose clock is ahead by so many.
start_skewed_worker() {
  local off=$1
  shift
  LD_PRELOAD=$BUILD/libskewed_clock.so TEST_CLOCK_OFF_S=$off \
    ASAN_OPTIONS=verify_asan_link_order=0:${ASAN_OPTIONS:-} start_worker "$@"
}

# tasks_of PID: the processes that this worker has started, but for its keeper.
tasks_of() { ps -o pid=,comm= --ppid "$1" | awk '$2 != "dunlin-keeper" {print $1}'; }

# stop_worker [PID]: asks it to leave, and waits until it has.
stop_worker() {
  kill -TERM "${1:-$worker}"
  wait "${1:-$worker}" || fail "the worker ended with $?"
}

kill_worker() {
  kill -9 "${1:-$worker}"
  wait "${1:-$worker}" 2>/dev/null || true
}

# submit OPTIONS...: sets $job.
submit() { job=$("$DUNLIN" submit --quiet "$@") || fail "not submitted: $*"; }

# ends_as STATE JOB: when the job has ended, that is its state.
ends_as() {
  "$DUNLIN" wait "$2" --timeout 180s >/dev/null 2>.wait || true
  local state
  state=$("$DUNLIN" status "$2" --quiet)
  [ "$state" = "$1" ] || fail "job $2 is $state, not $1: $("$DUNLIN" status "$2")"
}

# of JOB TASK FIELD: from its result, as plain text.
of() { "$DUNLIN" results "$1" --task "$2" --json | jq -r ".$3"; }
