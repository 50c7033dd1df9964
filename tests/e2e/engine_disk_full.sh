# A server whose disk is full: who asks for something is told which one it is and what to do, what is
# there stays, and work goes on by itself once there is room.
[ -n "${INSIDE:-}" ] || exec env INSIDE=1 unshare --user --map-root-user --mount bash "$0"  # Namespaces.
source "$(dirname "$0")/lib.sh"
source "$here/../engines/mixed.sh"
small_disk disk -o size=6m

# The tables are on the small disk, the log of PostgreSQL is not: without one it would not run at all.
port=$(free_ports 1)
make_postgres "$work/pg"
start_postgres "$work/pg" "$port"
sql() { PGPASSWORD=secret "$pg_bin/psql" -qtAX -h 127.0.0.1 -p "$port" -U dunlin postgres -c "$1"; }
sql "create tablespace small location '$work/disk'"
sql "alter role dunlin set default_tablespace = small"
export DUNLIN_AT=$pg_url
expect 0 "$DUNLIN" store init
expect 0 "$DUNLIN" store put settings key value
head -c 150000 /dev/urandom >bytes

# fills NAME: no more than the last page of each table has room, and then two tasks of a worker end.
fills() {
  start_worker w1 --slots 2
  mkfifo "$1.gate"
  exec {gate}<>"$1.gate"
  submit --name "$1" --array 0-1 -- \
    "echo {#} >>$work/$1.began; test -e $work/$1.full || read line <$work/$1.gate; cat $work/bytes"
  within 60 eval "[ \$(wc -l <$1.began) = 2 ]"
  head -c 20M /dev/zero >disk/filler 2>/dev/null && fail "the disk is not small"
  touch "$1.full"
  printf '\n\n' >&"$gate"
}

# refuses CODE WORDS...: to write rows, when the room that was taken in advance is used up.
refuses() {
  local code=0 written=0
  while [ $code = 0 ]; do
    timeout 120 "$DUNLIN" store put settings "big$written" --value-file bytes >put.out 2>put.err || code=$?
    written=$((written + 1))
    [ $written -lt 100 ] || fail "the disk is never full"
  done
  same "$code" "$1"
  says "$(<put.err)" "No space left" "${@:2}"
  same "$("$DUNLIN" store get settings key --quiet)" value
}

# goes_on NAME: the worker holds what it cannot store until there is room. If it cannot keep its lease
# meanwhile, the task is done once more; it has one outcome all the same.
goes_on() {
  within 120 grep -q "cannot store an output yet" w1.log  # The client of AWS tries for a minute.
  same "$("$DUNLIN" status "$1" --quiet)" open
  rm disk/filler
  expect 0 "$DUNLIN" wait "$1" --timeout 180s
  ends_as "done" "$1"
  for task in 0 1; do same "$("$DUNLIN" logs "$1" "$task" | cksum)" "$(cksum <bytes)"; done
  same "$("$DUNLIN" results "$1" --json | jq -rs 'map(.task) | sort | @csv')" 0,1
  stop_worker
  rm w1.log
}

fills first
refuses 3 "@127.0.0.1:$port/postgres" "make room"
expect 3 timeout 60 "$DUNLIN" store init --at "$pg_url#second"
says "$err" "@127.0.0.1:$port/postgres" "No space left" "make room"
goes_on first

# RabbitMQ blocks whoever publishes when its disk is nearly full. It only carries hints: work goes on.
start_rabbit
export DUNLIN_AT=queue=$rabbit_url,table=$pg_url#mixed
expect 0 "$DUNLIN" store init
rabbit_ctl 0 set_disk_free_limit 900000GB >rabbit_limit.log 2>&1
expect 0 "$DUNLIN" submit --name blocked --array 0-99 -- true
says "$err" "$(sed 's/:secret//' <<<"$rabbit_url")" "short of memory or disk" "more slowly"
start_worker w1 --slots 2
ends_as "done" blocked
stop_worker
kill_rabbit
kill_postgres

# A hub, and its door to the protocols of AWS.
source "$here/../engines/aws.sh"
rm -rf disk/* w1.log
mkdir disk/hub
ln -s disk/hub hub
start_engine
expect 0 "$DUNLIN" store put settings key value
fills cloud
refuses 3 "127.0.0.1:$aws_port"
goes_on cloud
export DUNLIN_AT=$url
expect 0 "$DUNLIN" store put settings key value
fills hub
refuses 1 hub/log
goes_on hub

# A worker that shall leave while the store can take nothing back need not be killed.
fills leaves
wait_for w1.log "cannot store an output yet"
kill -TERM "$worker"
wait_for w1.log "leaving:"
kill -TERM "$worker"
wait_for w1.log "leaving now"
kill -TERM "$worker"
code=0
wait "$worker" || code=$?
same $code 130
rm disk/filler
start_worker w2 --slots 2
ends_as "done" leaves
