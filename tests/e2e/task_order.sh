# What comes first: priorities, jobs that come after others, and submissions with a key.
source "$(dirname "$0")/lib.sh"
start_hub
with_token submit true
export DUNLIN_TOKEN_FILE=$work/submit.token  # All that clients need here.

# Whatever was submitted first, the larger priority starts first.
submit --name low --priority 1 --array 0-3 -- "echo low >>$work/order"
submit --name normal --array 0-3 -- "echo normal >>$work/order"
submit --name high --priority 9 --array 0-3 -- "echo high >>$work/order"
with_token worker start_worker w1 --slots 1
"$DUNLIN" wait low normal high --timeout 60s >/dev/null
same "$(uniq order | tr '\n' ,)" high,normal,low,

# Owners take turns: who came with little does not wait for who came with much.
kill -STOP "$worker"
submit --name much --owner ann --array 0-99 -- "echo ann >>$work/turns; sleep 0.02"
submit --name little --owner bob --array 0-4 -- "echo bob >>$work/turns; sleep 0.02"
kill -CONT "$worker"
ends_as done little
ends_as done much
last=$(grep -n bob turns | tail -n 1 | cut -d : -f 1)
[ "$last" -lt 100 ] || fail "bob was last: line $last"

# After: when the other is done, and not before; a whole chain of them.
mkfifo gate
submit --name first -- "read line <$work/gate; echo first >>$work/chain"
first=$job
submit --name second --after first --array 0-2 -- "echo second >>$work/chain"
submit --name third --after second --after "$first" -- "echo third >>$work/chain"
same "$("$DUNLIN" status third --quiet)" waiting
says "$("$DUNLIN" explain third)" "waits for 2 jobs"
echo go >gate
ends_as done third
same "$(uniq chain | tr '\n' ,)" first,second,third,

# After a failure: skipped, and what comes after that, too. Nothing of them has run.
submit --name bad --array 0-3 -- 'test {#} != 2'
submit --name next --after bad -- "touch $work/wrong"
submit --name beyond --after next -- "touch $work/wrong"
ends_as failed bad
ends_as skipped next
ends_as skipped beyond
says "$("$DUNLIN" explain next)" skipped "1 of 4 tasks fail"
submit --name late --after bad -- "touch $work/wrong"  # It failed long before.
ends_as skipped late
submit --name soon --after first -- true               # It was done long before.
ends_as done soon
[ ! -e wrong ] || fail "a skipped job ran"

# The same key is the same job: nothing runs twice.
submit --key night --array 0-9 -- "echo {#} >>$work/keyed"
one=$job
ends_as done "$one"
submit --key night --array 0-9 -- "echo {#} >>$work/keyed"
same "$job" "$one"
ends_as done "$job"
same "$(sort -n keyed | tr '\n' ,)" 0,1,2,3,4,5,6,7,8,9,
stop_worker
