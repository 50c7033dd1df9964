# Where a hub's tasks run: in the submitter's folder where it is the same one, else in a fresh one; and what
# becomes of the files that they leave there.
source "$(dirname "$0")/lib.sh"
start_hub
start_worker w1 --slots 2

mkdir -p mine/sub
cd mine
printf '#!/bin/sh\necho "ran $1 in $(pwd)"\n' >sim
chmod +x sim

# The same folder: relative programs run and files stay.
expect 0 "$DUNLIN" submit --array 3-3 --wait -- ./sim {}
same "$out" "ran 3 in $work/mine"
expect 0 "$DUNLIN" submit --wait -- 'echo hi >out.txt'
same "$(<out.txt)" hi
[[ $err != *fresh* ]] || fail "a word too much: $err"
expect 0 "$DUNLIN" submit --cwd sub --wait -- pwd
same "$out" "$work/mine/sub"
cat >../jobs.toml <<END
[[job]]
command = "./sim file"
END
cp sim ..
expect 0 "$DUNLIN" submit ../jobs.toml --wait
same "$out" "ran file in $work"

# A task's own folder is below the job's, not below the worker's.
for own in sub .. "$work/mine/sub"; do
  jq -cn --arg cwd "$own" '{argv: ["pwd"], cwd: $cwd}' >own.json
  expect 0 "$DUNLIN" submit --json-lines own.json --wait
  same "$out" "$(cd "$own" && pwd)"
  expect 0 "$DUNLIN" run --json-lines own.json
  same "$out" "$(cd "$own" && pwd)"
done
jq -cn '{argv: ["pwd"], cwd: "task"}' >own.json
expect 0 "$DUNLIN" submit --json-lines own.json --wait
says "$out" "$work/w1.folder/"
jq -cn '{argv: ["pwd"], cwd: "sub"}' >own.json
expect 2 "$DUNLIN" submit --cwd task --json-lines own.json
says "$err" 'own.json:1' '"sub"' "absolute path"
mkdir '{x}'
expect 0 "$DUNLIN" submit --cwd '{x}' --wait -- pwd
same "$out" "$work/mine/{x}"

# What a link leads to is the folder, also with .. behind it.
mkdir -p ../real/deep
ln -s ../real/deep link
printf '#!/bin/sh\necho the real one\n' >../real/sim
chmod +x ../real/sim
printf '[[job]]\ncommand = "./sim"\n' >../real/linked.toml
expect 0 "$DUNLIN" submit link/../linked.toml --wait
same "$out" "the real one"

# A fresh folder: empty, and what goes with it is said by each who looks.
expect 0 "$DUNLIN" submit --cwd task --wait -- 'ls -A; echo a >out.txt; echo b >second'
same "$out" ""
says "$err" "task 0: its fresh folder was removed with 2 files in it, \"out.txt\" among them" "--cwd"
expect 0 "$DUNLIN" results last
says "$err" "was removed with 2 files in it"
expect 0 "$DUNLIN" logs last 0
says "$err" "was removed with 2 files in it"
says "$(of last 0 why)" "was removed with 2 files in it"
expect 0 "$DUNLIN" submit --cwd task --array 0-2 --wait -- 'echo {} >only'
says "$err" "was removed with 1 file in it" "likewise 2 others"
long=simulation-of-the-large-basin-at-noon-part-1.dat
expect 0 "$DUNLIN" submit --cwd task --wait -- "echo x >$long"
says "$err" "$long" "name with --cwd a folder that stays"
expect 0 "$DUNLIN" submit --cwd task --wait -- 'echo x >$TMPDIR/t; rm $TMPDIR/t; echo clean'
[[ $err != *left* ]] || fail "a clean task is blamed: $err"

# Also of a task that failed.
expect 1 "$DUNLIN" submit --cwd task --wait -- 'echo a >out.txt; exit 3'
says "$err" "was removed with 1 file in it"
for look in 'logs last 0' 'results last --quiet'; do
  expect 0 "$DUNLIN" $look
  says "$err" "its fresh folder was removed with 1 file in it, \"out.txt\""
done
says "$(of last 0 why)" "was removed with 1 file in it"
expect 0 "$DUNLIN" results last
says "$out" "was removed with 1 file in it"

# What cannot be is refused before it is submitted.
expect 2 "$DUNLIN" submit --cwd task -- ./sim
says "$err" '"./sim"' --cwd "absolute path"
expect 2 "$DUNLIN" submit --cwd task -- './sim >out'
mkdir task
expect 2 "$DUNLIN" submit --cwd task -- pwd
says "$err" ./task
expect 0 "$DUNLIN" submit --cwd ./task --wait -- pwd
same "$out" "$work/mine/task"
printf '[[job]]\ncwd = "task"\ncommand = "./sim"\n' >bad.toml
expect 2 "$DUNLIN" submit bad.toml
says "$err" bad.toml:1 '"./sim"' cwd

# Another folder of the same name, as on another machine: nothing is run in it.
mkfifo "$work/gate"
mkdir ../elsewhere
cd ../elsewhere
cp ../mine/sim .
submit -- "read line <$work/gate"
"$DUNLIN" submit --quiet --after "$job" -- ./sim 1 >first
"$DUNLIN" submit --quiet --after "$job" -- 'ls -A; echo x >out; false' >second
cd "$work"
mv elsewhere away
mkdir elsewhere
echo precious >elsewhere/file
echo go >gate &
ends_as failed "$(<away/first)"
says "$(of "$(<away/first)" 0 why)" '"./sim"' "does not have the folder \"$work/elsewhere\"" --cwd
ends_as failed "$(<away/second)"
says "$(of "$(<away/second)" 0 why)" "exit code 1; it ran in a fresh folder" "$work/elsewhere" "was removed with 1 file in it"
same "$("$DUNLIN" logs "$(<away/second)" 0)" ""
same "$(ls elsewhere)" file
wait %% 2>/dev/null || true

# A folder that the tasks' user may not enter: a fresh one, or a refusal that says so.
if [ "$(id -u)" = 0 ]; then
  chmod 711 "$work"
  install -m 755 "$DUNLIN" program
  mkdir -m 700 closed
  printf '#!/bin/sh\n' >closed/sim
  chmod +x closed/sim
  mkdir -m 777 open
  install -m 644 "$DUNLIN_TOKEN_FILE" open/token
  setpriv --reuid nobody --regid nogroup --clear-groups "$work/program" worker --name w3 --slots 1 --tag three \
    --token-file open/token --folder "$work/open/w3" >w3.out 2>w3.log &
  started+=($!)
  wait_for w3.out "worker w3"
  start_worker w4 --run-as nobody --slots 1 --tag four
  cd closed
  for tag in three four; do
    expect 0 "$DUNLIN" submit --requires $tag --wait -- 'ls; echo x >file'
    same "$out" ""
    says "$err" "it ran in a fresh folder, as tasks of this worker may not enter \"$work/closed\"" "was removed with 1 file in it"
    expect 1 "$DUNLIN" submit --requires $tag --wait -- ./sim
    says "$err" "cannot enter the folder \"$work/closed\""
  done
  cd ..
fi

# Hostile marks and paths are no way in, and break nothing.
start_worker w2 --slots 1 --tag two
for cwd in '?' '?/etc' '?../etc' '????/' "?$(head -c 3000 /dev/zero | tr '\0' a)/etc"; do
  jq -cn --arg cwd "$cwd" '{argv: ["pwd"], cwd: $cwd}' >hostile.json
  expect 0 "$DUNLIN" submit --requires two --json-lines hostile.json --wait
  says "$out" "$work/w2.folder/"
done
