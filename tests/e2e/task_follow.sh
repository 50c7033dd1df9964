# Results as they come: results --follow, wait, and --wait of what is submitted.
source "$(dirname "$0")/lib.sh"
start_hub
start_worker w1 --slots 2
mkfifo gate

submit --name slow --array 0-3 -- "test {#} = 1 && read line <$work/gate; echo value {#}; test {#} != 2"
"$DUNLIN" results slow --follow --json >followed &
follower=$!
started+=("$follower")
"$DUNLIN" wait slow --timeout 60s >waited 2>&1 &
waiter=$!
started+=("$waiter")
wait_for followed '"task":3'
kill -0 "$follower" || fail "it left before the end"
same "$(jq -r .task followed | sort | tr '\n' ,)" 0,2,3,
expect 1 "$DUNLIN" wait slow --timeout 100ms
echo >gate
wait "$follower" || fail "results --follow ended with $?"
same "$(jq -r .task followed | sort | tr '\n' ,)" 0,1,2,3,
wait "$waiter" && fail "wait ended well"
says "$(<waited)" "has failed: 3 tasks ok, 1 failed"
same "$("$DUNLIN" results slow --follow --failed --quiet)" "value 2"
same "$("$DUNLIN" results slow --task 1-2 --json | jq -r .task | tr '\n' ,)" 1,2,

# What --wait prints is whole lines of each task, never mixed.
"$DUNLIN" submit --wait --array 0-49 -- 'for i in 1 2 3 4 5; do echo {#}; done' >printed 2>/dev/null
same "$(uniq -c printed | awk '$1 != 5')" ""
same "$(wc -l <printed | tr -d ' ')" 250
expect 1 "$DUNLIN" submit --wait --json --array 0-2 -- 'exit {#}'
same "$(jq -c 'select(.task != null) | [.task,.exit]' <<<"$out" | sort | tr '\n' ' ')" \
  "[0,0] [1,1] [2,2] "

stop_worker
