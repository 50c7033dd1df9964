# A password in a store's URL is shown by nobody: not by any command, whether it works or not, nor in
# logs, nor in the list of processes.
source "$(dirname "$0")/lib.sh"
source "$here/../engines/postgres.sh"

port=$(free_ports 1)
make_postgres "$work/pg"
start_postgres "$work/pg" "$port"
sql() { PGPASSWORD=secret "$pg_bin/psql" -qtAX -h 127.0.0.1 -p "$port" -U dunlin postgres -c "$1"; }
sql "create role ann login superuser password 'sesame@17'"
at="postgres://ann:sesame%4017@127.0.0.1:$port/postgres"

# run COMMAND...: adds all that it says to ./said, whatever it comes to.
run() {
  echo "+ $*" | sed 's/ --a[a-z-]* .*//; s/[a-z]*:.*//' >>said
  timeout 20 "$DUNLIN" "$@" >>said 2>&1 </dev/null || true
}

run store init --at "$at"
start_worker w1 --at "$at" --slots 1
says "$(<w1.out)" "at postgres://ann:***@127.0.0.1:$port/postgres"
for number in $(pgrep -f -- "--name w1") "$worker"; do
  [[ $(tr '\0' ' ' <"/proc/$number/cmdline") != *sesame* ]] || fail "the list of processes shows it"
done
run submit --at "$at" --wait --quiet -- true
run submit --at "$at" --quiet --requires nosuchtag -- true
# Without '@HOST' the password stands where a port would.
for typo in postgres://ann:sesame17 postgresql://ann:sesame17/db postgres://ann:sesame17?x=1 \
  dunlin://ann:sesame17 'queue=amqp://ann:sesame17,table=memory:,blobs=memory:'; do
  run store get t k --at "$typo"
done
for verb in explain status results cancel; do
  run $verb last --at "$at"
  run $verb last --at "$at" --json
done
says "$(<said)" 'dunlin worker --at postgres://ann:***@127.0.0.1'
stop_worker
run list --at "$at"
run pool --at "$at"
run store info --at "$at"

# Each command at stores that cannot be.
commands_of() { "$DUNLIN" "$@" --help | sed -n '/^Subcommands:/,$ s/^  \([a-z-]\+\) .*/\1/p'; }
mapfile -t verbs < <(for verb in $(commands_of); do
  inner=$(commands_of "$verb")
  if [ -z "$inner" ]; then echo "$verb"; else sed "s/^/$verb /" <<<"$inner"; fi
done)
[ ${#verbs[@]} -gt 20 ] || fail "only these verbs: ${verbs[*]}"
for verb in "${verbs[@]}"; do
  # shellcheck disable=SC2086
  run $verb --at postgress://ann:sesame@127.0.0.1/lab
done
shut=$(free_ports 1)
asking=()
for bad in "postgres://ann:sesame@127.0.0.1:$shut/lab" "postgres://ann:sesame@17@127.0.0.1/lab" \
  "postgres://ann:pa%zzsesame@127.0.0.1/lab" "postgres://ann:pa#sesame@127.0.0.1/lab" \
  "postgres://ann:pa/sesame@127.0.0.1/lab" "postgres://ann:pa?sesame@127.0.0.1/lab" \
  "postgres://127.0.0.1:$shut/lab?user=ann&password=sesame" "postgres:ann:sesame@127.0.0.1/lab" \
  "queue=amqp://ann:sesame@127.0.0.1:$shut/,table=$at" "queue=amqp://ann:sesame@/,table=$at" \
  "queue=amqp://ann:sesame/sesame@127.0.0.1/,table=$at" "queue=$at,table=$at" \
  "queue=amqp://ann:sesame@127.0.0.1/,tabel=$at" "tabel=$at" "amqp://ann:sesame@127.0.0.1/" \
  "dunlin://sesame@127.0.0.1:7070" "dunlin://ann:sesame@127.0.0.1:7070" "ann:sesame@127.0.0.1"; do
  # All at once: most of them wait for somebody who is not there.
  (
    run store info --at "$bad"
    run store init --at "$bad"
    run status last --at "$bad" --json
    DUNLIN_AT=$bad run worker --allow-root --idle-exit 1s
  ) &
  asking+=($!)
done
wait "${asking[@]}"
run "$at"
run status --att "$at"
DUNLIN_AT=aws:eu-north-1/lab run store info --aws-endpoint https://ann:sesame@127.0.0.1

cat w1.log >>said
if grep -n -B3 sesame said; then fail "the password is shown"; fi
# They did run, and most had something to say.
[ "$(grep -vc '^+' said)" -gt 100 ] || fail "they said little: $(<said)"
