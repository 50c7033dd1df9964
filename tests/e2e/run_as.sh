# Tasks of another user: who they are, what of the worker they cannot reach, and that nothing of them
# stays. And what tasks of the worker's own user cannot reach.
source "$(dirname "$0")/lib.sh"
if [ "$(id -u)" != 0 ]; then
  expect 4 "$DUNLIN" worker --run-as nobody --at dunlin://127.0.0.1:1
  says "$err" root nobody
  exit 0
fi
submit() { job=$("$DUNLIN" submit --quiet --cwd task "$@") || fail "not submitted: $*"; }
chmod 711 "$work"
install -m 755 "$DUNLIN" program
as_nobody() { setpriv --reuid nobody --regid nogroup --clear-groups "$@"; }

# Before anything is done: who cannot be another one, and as whom nobody may run.
for bad in "2 root" "5 no-such-user"; do
  expect "${bad% *}" "$DUNLIN" worker --run-as "${bad#* }" --folder "$work/bad"
  says "$err" "${bad#* }"
done
expect 4 as_nobody "$work/program" worker --run-as daemon --folder "$work/bad"
says "$err" "root" "daemon"
expect 4 setpriv --bounding-set=-kill "$DUNLIN" worker --run-as nobody --folder "$work/bad"
says "$err" CAP_KILL
start_hub
mkdir -m 700 closed
expect 4 "$DUNLIN" worker --run-as nobody --folder "$work/closed/in" --idle-exit 1s
says "$err" nobody "$work/closed/in" --folder
mkdir -m 755 theirs
chown nobody theirs
expect 4 "$DUNLIN" worker --run-as nobody --folder "$work/theirs/in" --idle-exit 1s
says "$err" "$work/theirs" --folder
[ ! -e bad ] || fail "a worker that may not start made its folder"

cp "$DUNLIN_TOKEN_FILE" token
chmod 600 token
mkdir -m 755 target
touch target/file
cat >look.sh <<'END'
echo "ids $(id -ru) $(id -u) $(id -rg) $(id -g)"
echo "groups $(awk '/^Groups:/ { print $2, $3 }' /proc/self/status)"
echo "gain $(sed -n 's/^NoNewPrivs:[[:space:]]*//p' /proc/self/status)"
echo "home $HOME $USER $LOGNAME"
echo "folder $(stat -c '%U %a' . "$TMPDIR" | tr '\n' ' ')"
echo "secret ${SECRET_OF_WORKER:-none} ${DUNLIN_TOKEN_FILE:-none}"
echo "heard" >/dev/stderr
for file in "$1" /proc/$PPID/environ /proc/$PPID/mem /proc/$PPID/root/etc/shadow; do
  if head -c 1 "$file" >/dev/null 2>&1; then echo "reads $file"; fi
done
if touch "$2/file" 2>/dev/null || mv . "$2/other" 2>/dev/null; then echo "writes to the worker's folder"; fi
if kill -STOP "$PPID" 2>/dev/null; then echo "stops the worker"; fi
python3 -c 'import ctypes, os
libc = ctypes.CDLL(None, use_errno=True)
if libc.ptrace(16, os.getppid() if len(os.sys.argv) < 2 else int(os.sys.argv[1]), 0, 0) == 0: print("traces")' $PPID
END

SECRET_OF_WORKER=hush start_worker other --run-as nobody --slots 2 --token-file "$work/token"
submit -- sh "$work/look.sh" "$work/token" "$work/other.folder"
ends_as done "$job"
same "$(of "$job" 0 stdout)" "ids 65534 65534 65534 65534
groups 65534 
gain 1
home $(getent passwd nobody | cut -d : -f 6) nobody nobody
folder nobody 700 nobody 700 
secret none none"
same "$(of "$job" 0 stderr)" heard
same "$("$DUNLIN" results "$job" --json | jq -r .blame)" null

# A job cannot ask for the worker's environment. The folder of each task is empty and its own; what it
# locked, linked and nested there goes, and nothing else does.
submit --array 0-5 -- sh -c 'ls -A; mkdir -p a/b/c; touch a/b/c/file; ln -s '"$work"'/target a/b/link
  ln -s '"$work"'/target/file link; chmod 000 a/b/c; chmod 500 a/b a; echo x >file'
ends_as done "$job"
same "$("$DUNLIN" results "$job" --json | jq -r .stdout | tr -d '\n')" ""
same "$(stat -c '%a %U' target target/file | tr '\n' ' ')" "755 root 644 root "
emptied() { [ "$(find other.folder/slot-* -mindepth 1 2>/dev/null | wc -l)" = 0 ]; }
within 60 emptied

# Who may write to a folder of somebody else can move it, but not remove what is private in it; nor does
# root for him, now or when the worker starts again.
mkdir -m 777 shared
mkdir -m 777 shared/open
mkdir -m 700 shared/open/private
echo kept >shared/open/private/file
chown -R 12345 shared/open
submit -- mv "$work/shared/open" .
ends_as done "$job"
submit -- true
ends_as done "$job"
kept() { same "$(find other.folder -name file -path '*/private/*' -exec cat {} + 2>/dev/null)" kept; }
kept
stop_worker
kept
start_worker other --run-as nobody --slots 2 --token-file "$work/token"
submit -- true
ends_as done "$job"
kept
find other.folder -name open -exec rm -r {} +

# Cleanup lines are the task's, too.
submit --cleanup 'id -u >/tmp/dunlin-e2e-'$$ -- true
ends_as done "$job"
same "$(cat /tmp/dunlin-e2e-$$)" 65534
rm -f /tmp/dunlin-e2e-$$

# What a task leaves ends with it, even without its environment; and with a worker that is killed.
mkfifo -m 666 left
submit -- sh -c 'setsid env -i sh -c "echo \$\$ >'"$work"'/left; exec sleep 1000" & wait; exit 0' &
read -r pid <left
gone() { [ ! -e "/proc/$1" ] || [ "$(sed -n 's/^State:[[:space:]]*\(.\).*/\1/p' "/proc/$1/status")" = Z ]; }
same "$(stat -c %U "/proc/$pid")" nobody
wait $!
"$DUNLIN" cancel last >/dev/null
within 60 gone "$pid"
submit -- sh -c 'setsid sh -c "echo \$\$ >'"$work"'/left; exec sleep 1000" & exec sleep 1000'
read -r pid <left
kill_worker
within 60 gone "$pid"
"$DUNLIN" cancel "$job" >/dev/null

# With the leave of the worker's owner they may gain rights.
start_worker sudo --run-as nobody --slots 1 --allow-sudo
submit -- sed -n 's/^NoNewPrivs:[[:space:]]*//p' /proc/self/status
ends_as done "$job"
same "$(of "$job" 0 stdout)" 0
stop_worker

# Tasks of the worker's own user can read its files; but not look into it.
mkdir -m 777 own
cp token own/token
chown nobody own/token
for wish in "" --debuggable; do
  SECRET_OF_WORKER=hush setpriv --reuid nobody --regid nogroup --clear-groups "$work/program" worker --name "own$wish" --folder "$work/own/folder" \
    --token-file own/token $wish >own.out 2>own.log &
  started+=($!)
  wait_for own.out "worker own"
  submit -- sh -c 'ls -A; mkdir -p a/b; chmod 500 a; tr "\0" "\n" </proc/$PPID/environ | grep SECRET_OF'
  "$DUNLIN" wait "$job" >/dev/null 2>&1 || true
  same "$(of "$job" 0 stdout)" "${wish:+SECRET_OF_WORKER=hush}"
  kill -TERM "${started[-1]}"
  wait "${started[-1]}"
done
