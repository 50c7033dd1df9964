# Sourced by campaigns: a job whose starts are all noted, and the check that each task of it has one
# outcome, of an attempt that did start, and that none started twice.

# submit_noted TASKS: sets $job.
submit_noted() {
  submit --array "0-$(($1 - 1))" -- "echo {#} \$DUNLIN_ATTEMPT >>$work/started"
}

ended() { "$DUNLIN" status "$job" --json | jq -r '.ok + .failed'; }
more_than() { [ "$(ended)" -gt "$1" ]; }

# check_outcomes TASKS: when the job has ended.
check_outcomes() {
  "$DUNLIN" results "$job" --json | jq -r '[.task, .state, .attempt] | @tsv' >results
  same "$(cut -f 1 results | sort -n | uniq | wc -l)" "$1"
  same "$(wc -l <results)" "$1"
  same "$(cut -f 2 results | sort | uniq -c | awk '{print $2}')" ok
  python3 - "$work/started" "$work/results" <<'PY'
import collections, sys
starts = collections.Counter(tuple(map(int, line.split())) for line in open(sys.argv[1]))
twice = [start for start, count in starts.items() if count > 1]
missing = [line for line in open(sys.argv[2])
           if (int(line.split()[0]), int(line.split()[2])) not in starts]
sys.exit(f"twice: {twice[:5]}, never: {missing[:5]}" if twice or missing else 0)
PY
}
