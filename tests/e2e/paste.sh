# What README.md and docs/ say, pasted top to bottom into a shell, as root and as another user: every
# command ends well and prints what is shown. See paste.py for what is left out.
. "$(dirname "$0")/lib.sh"

source=$here/../..
mapfile -t documents < <(cd "$source" && grep -lE '^(    \$ |```sh)' README.md docs/*.md)
((${#documents[@]} >= 7)) || fail "only ${documents[*]} have commands"

# The marks are few.
marks=$(cd "$source" && cat "${documents[@]}" | grep -c '^<!-- not pasted: ') || true
((marks <= 16)) || fail "$marks blocks are not pasted"

users=("$(id -un)")
reader=
if [ "$(id -u)" = 0 ]; then
  reader=dunlin-reader-$$
  useradd --no-create-home --home-dir "$work/home" --shell /bin/bash "$reader" || skip "cannot make a user"
  users+=("$reader")
  # Processes that were killed may take a moment to go.
  is_gone() { ! pkill -9 -u "$reader" && userdel "$reader"; }
  trap 'within 30 is_gone; clean_up' EXIT
fi
chmod 755 "$work"
mkdir bin
cp "$DUNLIN" bin/dunlin

# make_reader FOLDER: an empty home with the programs and files that a reader has.
make_reader() {
  mkdir -p "$1/tmp"
  cp "$here"/paste_files/* "$1"
  cp -r "$source/examples" "$1/examples"
  chmod +x "$1/sim" "$1/simulate"
  head -c 3000000 /dev/zero >"$1/data.bin"
}

# paste USER DOCUMENT
paste() {
  local user=$1 folder=$work/$1-$(basename "$2" .md) as=() code=0
  make_reader "$folder"
  cp "$source/$2" "$folder.md"
  if [ "$user" != "$(id -un)" ]; then
    chown -R "$user" "$folder"
    as=(setpriv --reuid "$user" --regid "$user" --clear-groups)
  fi
  env -i "${as[@]}" env HOME="$folder" PATH="$work/bin:$PATH" TMPDIR="$folder/tmp" LANG=C.UTF-8 \
    PASTE_PORTS="$(free_ports 4)" ASAN_OPTIONS="${ASAN_OPTIONS:-}" "DUNLIN_E2E_WORK=$work/" \
    python3 "$here/paste.py" "$folder" ann "$folder.md" >"$folder.said" 2>&1 || code=$?
  return "$code"
}

pids=()
names=()
for user in "${users[@]}"; do
  for document in "${documents[@]}"; do
    paste "$user" "$document" &
    pids+=($!)
    names+=("$user $document")
  done
done
wrong=0
for i in "${!pids[@]}"; do
  wait "${pids[$i]}" || { wrong=1; echo "as ${names[$i]}:" >&2; }
done
cat ./*.said
[ "$wrong" = 0 ] || fail "the documents are not true"
