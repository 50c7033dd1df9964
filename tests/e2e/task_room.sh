# What a task finds: its environment, folder, input and descriptors; and nothing else.
source "$(dirname "$0")/lib.sh"
start_hub
SECRET=worker start_worker w1 --slots 2 --gpus 2

# The environment: what was asked for, what a program needs, and who it is.
HERE=from-here submit --name env --env A='1 2' --env HERE -- env
ends_as done env
"$DUNLIN" logs env 0 >seen
says "$(<seen)" "A=1 2" HERE=from-here PATH= DUNLIN_JOB="$job" DUNLIN_TASK=0 DUNLIN_ATTEMPT=1 \
  DUNLIN_WORKER=w1
grep -E '^(SECRET|DUNLIN_AT|DUNLIN_TOKEN_FILE|CUDA_VISIBLE_DEVICES)=' seen &&
  fail "leaked into the task"
same "$(grep '^HERE' seen)" "HERE=from-here"
same "$(grep -c ^TMPDIR="$work/w1.folder/" seen)" 1

# A folder of its own, empty at each attempt, gone after it.
submit --cwd task --array 0-19 -- 'ls -A; pwd; mkdir -p a/b; echo x >a/b/c; chmod 0 a; ln -s / root'
ends_as done "$job"
same "$("$DUNLIN" results "$job" --quiet | grep -vc "^$work/w1.folder/")" 0
same "$("$DUNLIN" results "$job" --quiet | wc -l | tr -d ' ')" 20
submit --cwd /usr/bin -- pwd
ends_as done "$job"
same "$("$DUNLIN" logs "$job" 0)" /usr/bin
submit --cwd /no/such/folder -- pwd
ends_as failed "$job"
says "$(of "$job" 0 why)" /no/such/folder

# Standard input: what was given, else nothing; no terminal, no other descriptors, own session.
echo given >input
submit --stdin input --array 0-2 -- cat
ends_as done "$job"
same "$("$DUNLIN" results "$job" --quiet | tr '\n' ,)" given,given,given,
submit -- 'cat; echo end'
ends_as done "$job"
same "$("$DUNLIN" logs "$job" 0)" end
exec 77<input  # A worker that inherited descriptors does not pass them on.
start_worker w2 --slots 1 --tag two
exec 77<&-
submit --requires two -- ls /proc/self/fd
ends_as done "$job"
same "$("$DUNLIN" logs "$job" 0 | tr '\n' ,)" 0,1,2,3,  # ls itself has the folder open.
submit -- 'test $(ps -o sid= -p $$) = $$ && test $(ps -o pgid= -p $$) = $$ && ps -o tty= -p $$'
ends_as done "$job"
same "$("$DUNLIN" logs "$job" 0 | tr -d ' ')" "?"
submit -- 'ulimit -c; grep -E "^Sig(Blk|Ign)" /proc/self/status'
ends_as done "$job"
same "$("$DUNLIN" logs "$job" 0 | tr -d '\t' | tr '\n' ,)" \
  "0,SigBlk:0000000000000000,SigIgn:0000000000000000,"

# GPUs are given out one by one, and named.
submit --gpus 1 --array 0-5 -- 'echo $CUDA_VISIBLE_DEVICES >>'"$work"'/gpus; sleep 0.1'
ends_as done "$job"
same "$(sort -u gpus | tr '\n' ,)" 0,1,
