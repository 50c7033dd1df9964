# A task that is tried again later, by a worker whose clock is behind that of the one before: it waits
# for the backoff, not for its clock.
source "$(dirname "$0")/lib.sh"
start_hub
start_worker right
submit --name again --retries 2 --backoff 2s -- \
  "echo \$DUNLIN_WORKER >>$work/again; test \$(wc -l <$work/again) -gt 1"
within 60 test -s again
stop_worker
start_skewed_worker -3600 behind
ends_as done again
same "$(wc -l <again | tr -d ' ')" 2
