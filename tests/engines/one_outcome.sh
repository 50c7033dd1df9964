# Sourced by campaigns: a job whose starts are all noted, somebody who looks at it all the time, and the
# check that each task has one outcome, of an attempt that did start, and that none started twice.
# TASKS=... says how many there are.
tasks=${TASKS:-50000}
slots=4  # Of each worker.

# submit_noted SECONDS: for two workers, which need at least so long for all of them. Sets $job.
submit_noted() {
  local name pause
  for name in w1 w2; do start_worker "$name" --slots $slots --hold 10s; done
  pause=$(awk "BEGIN {print 2 * $slots * $1 / $tasks}")
  submit --array "0-$((tasks - 1))" -- "echo {#} \$DUNLIN_ATTEMPT >>$work/started; sleep $pause"
  look_on &
  started+=("$!")
}

ended() { "$DUNLIN" status "$job" --json | jq -r '.ok + .failed'; }
more_than() { [ "$(ended)" -gt "$1" ]; }

# How many have ended, and when that was seen.
look_on() {
  local count
  while true; do
    if count=$(ended 2>/dev/null) && [ -n "$count" ]; then echo "$EPOCHREALTIME $count" >>seen; fi
    sleep 0.2
  done
}

# goes_wrong WHAT COMMAND...: does that to the servers while there is much to do, and returns when the
# work has gone on since.
goes_wrong() {
  local before
  before=$(ended)
  [ "$before" -lt $((tasks * 9 / 10)) ] || fail "too late for this: $before tasks have ended: $1"
  echo "$EPOCHREALTIME after $before tasks: $1" >>wrong
  "${@:2}"
  # What was under way may still end: only more than that is going on.
  within 120 more_than $((before + tasks / 50))
}

# stood_still_at_most SECONDS: at any time until all had ended, as somebody saw who looked on.
stood_still_at_most() {
  python3 - "$1" <<'PY'
import sys
wrong = [line.split(" ", 1) for line in open("wrong")]
wrong = [(float(when), what.strip()) for when, what in wrong] + [(float("inf"), "")]
steps, most = [], -1
for line in open("seen"):
    when, count = line.split()
    if int(count) > most:
        most = int(count)
        steps.append(float(when))
pauses = [(after - before, before, after) for before, after in zip(steps, steps[1:])]
for (begin, what), (end, _) in zip(wrong, wrong[1:]):
    longest = max((pause for pause, _, after in pauses if begin < after <= end), default=0)
    print(f"{what}; the work stood still for {longest:.1f} s at most")
longest = max(pauses)[0]
print(f"{most} tasks ended in {steps[-1] - steps[0]:.0f} s; the longest pause was {longest:.1f} s")
sys.exit(f"FAILED: more than {sys.argv[1]} s" if longest > float(sys.argv[1]) else 0)
PY
}

# check_outcomes: when the job has ended.
check_outcomes() {
  "$DUNLIN" results "$job" --json | jq -r '[.task, .state, .attempt] | @tsv' >results
  same "$(cut -f 1 results | sort -n | uniq | wc -l)" "$tasks"
  same "$(wc -l <results)" "$tasks"
  same "$(cut -f 2 results | sort | uniq -c | awk '{print $2}')" ok
  python3 - "$work/started" "$work/results" <<'PY'
import collections, sys
starts = collections.Counter(tuple(map(int, line.split())) for line in open(sys.argv[1]))
twice = [start for start, count in starts.items() if count > 1]
results = [tuple(map(int, line.split()[::2])) for line in open(sys.argv[2])]
missing = [result for result in results if result not in starts]
if twice or missing: sys.exit(f"twice: {twice[:5]}, never: {missing[:5]}")
print(f"{len(results)} tasks, one outcome each, {starts.total()} starts")
PY
}

# ends_well: all tasks end, with one outcome each, and the work never stood still for more than 30 s.
ends_well() {
  expect 0 timeout 900 "$DUNLIN" wait "$job"
  stood_still_at_most 30
  check_outcomes
}
