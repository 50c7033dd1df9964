# A store that is away: a worker does not take that for a lack of work, and leaves when it is told to.
source "$(dirname "$0")/lib.sh"
source "$here/../engines/aws.sh"

# away SECONDS: the hub is killed, and comes back after so long.
away() {
  kill_hub
  sleep "$1" # Only time can tell whether the worker counts it.
}

# is_gone PID: it has ended, within a minute.
is_gone() { timeout 60 tail --pid="$1" -f /dev/null || fail "worker $1 did not leave"; }

# A hub, and the services of AWS.
start_hub
start_worker hub --idle-exit 7s
away 9
start_hub --listen "127.0.0.1:$port"
submit --name after-hub -- true
ends_as done after-hub
is_gone "$worker" # Now there is nothing to do.
wait "$worker" || fail "it ended with $?"

# One that holds nothing leaves at the first signal.
start_worker idle --slots 1
kill_hub
kill -TERM "$worker"
is_gone "$worker"
wait "$worker" || fail "it ended with $?"
says "$(cat idle.log)" "exiting without telling the store"

# One that holds something says what it waits for.
start_hub --listen "127.0.0.1:$port"
mkfifo begun
start_worker holds --slots 1 --hold 20s
submit --name held -- "echo >$work/begun; exec sleep 1000"
read -r -t 60 <begun || fail "it did not begin"
kill_hub
kill -TERM "$worker"
wait_for holds.log "waiting for 1 running task to end"
kill -TERM "$worker"
wait_for holds.log "waiting for the store, which does not answer, to take back"
says "$(cat holds.log)" "within 20s"
kill -TERM "$worker"
is_gone "$worker"
! wait "$worker" || fail "it left work behind and says that all is well"

start_engine
start_worker aws --idle-exit 7s
away 9
restart_engine
submit --name after-aws -- true
ends_as done after-aws
is_gone "$worker"
wait "$worker" || fail "it ended with $?"
