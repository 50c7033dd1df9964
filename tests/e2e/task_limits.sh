# A task that uses more of the machine than it may is ended, its outcome names what it was, and others
# go on.
source "$(dirname "$0")/lib.sh"
for bad in "--task-procs 0" "--task-memory 5" "--task-disk x" "--task-memory -1"; do
  # shellcheck disable=SC2086
  expect 2 "$DUNLIN" worker --allow-root $bad --folder bad
done
start_hub
expect 2 "$DUNLIN" submit --memory-max x -- true
expect 2 "$DUNLIN" submit --file-max -1 -- true
start_worker bounded --slots 4 --task-procs 20 --task-memory 200M --task-disk 20M --enforce-mem

# ends_saying WORDS COMMAND...: the task will be ended by the worker, for that reason.
jobs=()
reasons=()
ends_saying() {
  reasons+=("$1")
  shift
  [[ " $* " == *" --cwd "* ]] || set -- --cwd task "$@"  # Its own folder is what is measured.
  submit "$@"
  jobs+=("$job")
}
memory='import sys, time
taken = bytearray(int(sys.argv[1]) << 20)
for at in range(0, len(taken), 4096): taken[at] = 1
print("has it", flush=True)
time.sleep(1000 if len(sys.argv) == 2 else float(sys.argv[2]))'

ends_saying "processes and threads, more than its limit of 20" -- \
  sh -c 'for i in $(seq 40); do sleep 1000 & done; wait'
ends_saying "processes and threads, more than its limit of 20" -- python3 -c '
import threading, time
for i in range(40): threading.Thread(target=time.sleep, args=(1000,), daemon=True).start()
time.sleep(1000)'
# In another session, whose first process is ours now.
ends_saying "more than its limit of 20" -- \
  sh -c 'setsid sh -c "for i in \$(seq 40); do sleep 1000 & done; wait" & sleep 1000'
ends_saying "of memory, more than its limit of 200.0 MiB" -- python3 -c "$memory" 300
ends_saying "of memory, more than its limit of 100.0 MiB" --memory-max 100M -- python3 -c "$memory" 150
ends_saying "of memory, more than its limit of 64.0 MiB" --mem 64M -- python3 -c "$memory" 100
ends_saying "in its folder, more than its limit of 20.0 MiB" -- sh -c '
  mkdir -p a/b; for i in $(seq 9); do head -c 5000000 /dev/zero >a/b/$i; done; sleep 1000'
ends_saying "larger than its limit of 20.0 MiB" --cwd /tmp -- python3 -c '
import os, signal, tempfile
signal.signal(signal.SIGXFSZ, signal.SIG_DFL)
file = tempfile.TemporaryFile()
for i in range(30): os.write(file.fileno(), bytes(1 << 20))'
ends_saying "larger than its limit of 4.0 KiB" --file-max 4K -- sh -c 'head -c 10000 /dev/zero >file'
deep='import os
for i in range(100): os.mkdir("d"); os.chdir("d")
import time; time.sleep(1000)'
ends_saying "too deep" -- python3 -c "$deep"
for i in "${!jobs[@]}"; do
  ends_as failed "${jobs[i]}"
  says "$(of "${jobs[i]}" 0 why)" "${reasons[i]}"
  same "$(of "${jobs[i]}" 0 blame)" task
done

# Memory that processes share is counted once, and address space that nobody uses not at all.
submit --array 0-1 -- python3 -c '
import mmap, os, time
unused = mmap.mmap(-1, 2 << 30)
shared = bytearray(os.urandom(1 << 20) * 60)
for i in range(5):
    if os.fork() == 0: time.sleep(1.5); os._exit(0)
for i in range(5): os.wait()
print("well")'
ends_as done "$job"
# A job file has the same, and what keeps to it ends well.
cat >job.toml <<'END'
[[job]]
name = "bounded"
argv = ["sh", "-c", "head -c 3000 /dev/zero >file; echo well"]
memory_max = "100M"
file_max = 4096
END
submit job.toml
ends_as done "$job"
same "$(of "$job" 0 stdout)" well
! pgrep -P "$worker" -x sleep || fail "something of a task is left"
