# Tries after a failure: how many, when, for which exit codes; and `retry` of a job that has ended.
source "$(dirname "$0")/lib.sh"
start_hub
with_token submit true
export DUNLIN_TOKEN_FILE=$work/submit.token  # All that clients need here.
with_token worker start_worker w1 --slots 2

# The third attempt is well; each waits twice as long as the one before.
submit --retries 5 --backoff 200ms -- 'echo $DUNLIN_ATTEMPT $(date +%s%3N) >>'"$work"'/times
test $DUNLIN_ATTEMPT -ge 3'
ends_as done "$job"
same "$(of "$job" 0 attempt)" 3
same "$(cut -d ' ' -f 1 times | tr '\n' ,)" 1,2,3,
awk 'NR > 1 && $2 - was < 190 * 2 ^ (NR - 2) { exit 1 } { was = $2 }' times || fail "$(<times)"

# A budget that is used up: the last outcome counts.
submit --retries 2 -- 'echo try $DUNLIN_ATTEMPT; exit 7'
ends_as failed "$job"
same "$(of "$job" 0 '|[.state,.exit,.attempt,.stdout]|tojson')" '["failed",7,3,"try 3\n"]'
says "$("$DUNLIN" status "$job")" "exit code 7"

# Only some exit codes are worth it; a signal is none of them.
submit --retries 3 --retry-on 75,100-102 --lines <(printf '75\n101\n1\n') -- 'exit {}'
ends_as failed "$job"
same "$("$DUNLIN" results "$job" --json | jq -r '"\(.exit):\(.attempt)"' | tr '\n' ,)" 75:4,101:4,1:1,
submit --retries 3 --retry-on 75 -- 'kill -SEGV $$'
ends_as failed "$job"
same "$(of "$job" 0 '|[.state,.signal,.attempt]|tojson')" '["crashed",11,1]'

# retry takes the failed ones alone, again and again, with larger attempts.
submit --name flaky --array 0-599 -- \
  "echo {#} >>$work/ran; test -e $work/good || test \$(({#} % 100)) != 7"
ends_as failed flaky
rm ran
same "$("$DUNLIN" retry flaky --failed --quiet)" 6
ends_as failed flaky
same "$(sort -n ran | tr '\n' ,)" 7,107,207,307,407,507,
touch good
says "$("$DUNLIN" retry flaky)" "queued 6 tasks"
ends_as done flaky
same "$("$DUNLIN" results flaky --json | jq -s -c '[length, (map(.attempt) | add)]')" '[600,612]'
same "$("$DUNLIN" status flaky --json | jq -c '[.ok,.failed,.waiting]')" '[600,0,0]'
expect 0 "$DUNLIN" retry flaky
says "$out" "no task" "failed"
stop_worker
