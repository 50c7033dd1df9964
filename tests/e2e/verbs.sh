# Every verb of `dunlin store` does what docs/CLI.md says, the same on a folder and through a hub.
source "$(dirname "$0")/lib.sh"
head -c 3000000 /dev/urandom >bytes

queues() {
  same "$("$DUNLIN" store push jobs --body hello --id one)" one
  same "$(printf 'a\nb\n\nlast' | "$DUNLIN" store push jobs --lines --id more)" \
    "pushed 4 messages to jobs"
  same "$("$DUNLIN" store depth jobs --json)" '{"v":1,"queue":"jobs","ready":5,"leased":0}'
  expect 0 "$DUNLIN" store pull jobs --max 1 --hold 60s --json
  says "$out" '"id":"one"' '"attempt":1' '"body":"hello"'
  token=$(sed 's/.*"token":\([0-9]*\).*/\1/' <<<"$out")
  says "$("$DUNLIN" store renew jobs --hold 2m "one:$token")" "renewed 1 lease"
  expect 1 "$DUNLIN" store finish jobs one 1
  says "$err" "stale" "one" "jobs"
  same "$("$DUNLIN" store finish jobs one "$token")" "finished 1 message of jobs"
  "$DUNLIN" store pull jobs --max 9 --quiet >pulled
  same "$(cut -f 2 pulled | tr '\n' ,)" "a,b,,last,"
  "$DUNLIN" store finish jobs $(cut -f 1 pulled) --quiet
  same "$("$DUNLIN" store depth jobs --quiet)" 0
  expect 0 "$DUNLIN" store pull jobs --wait 10ms
  same "$out" ""
  printf 'a\xff' | "$DUNLIN" store push jobs --body-file - --quiet >/dev/null
  says "$("$DUNLIN" store pull jobs --json)" '"body_base64":"Yf8="'
}

tables() {
  version=$("$DUNLIN" store put settings colour green --new --quiet)
  says "$("$DUNLIN" store get settings colour)" KEY colour "$version" green
  expect 1 "$DUNLIN" store put settings colour red --new
  says "$err" colour settings "$version"
  expect 0 "$DUNLIN" store put settings colour red --version "$version" --json
  expect 0 "$DUNLIN" store put settings size -- -5
  same "$("$DUNLIN" store get settings colour size --quiet)" "red
-5"
  same "$("$DUNLIN" store scan settings s --quiet)" size
  expect 5 "$DUNLIN" store get settings colour nothing
  says "$out$err" red '"nothing"'
  expect 0 "$DUNLIN" store erase settings size
  expect 5 "$DUNLIN" store get settings size
  for i in {1..30}; do echo "$i"; done >value
  "$DUNLIN" store put settings long --value-file value --quiet
  "$DUNLIN" store get settings long --quiet | cmp - <(cat value; echo)
}

blobs() {
  expect 0 "$DUNLIN" store blob put in/one bytes
  "$DUNLIN" store blob put in/two - <bytes
  "$DUNLIN" store blob get in/one | cmp - bytes
  expect 0 "$DUNLIN" store blob get in/two copy
  cmp copy bytes
  expect 1 "$DUNLIN" store blob put in/one value
  says "$err" in/one
  same "$("$DUNLIN" store blob list in/t --json)" '{"v":1,"name":"in/two","size":3000000}'
  expect 0 "$DUNLIN" store blob erase in/two
  expect 5 "$DUNLIN" store blob get in/two nowhere
  [ ! -e nowhere ] || fail "a blob that does not exist left a file"
  same "$("$DUNLIN" store blob list --quiet)" in/one
}

walk() {
  queues
  tables
  blobs
  says "$("$DUNLIN" store info)" jobs settings "1 blob (2.9 MiB)"
  says "$("$DUNLIN" store info --json)" '"queues":[{"name":"jobs","ready":0,"leased":1}]'
}

export DUNLIN_AT=file:$work/folder
walk
start_hub
walk
stop_hub
# A hub has two more: how long jobs are kept, and how far its sweeper is.
for folder in folder:2 hub:4; do
  expect 0 "$DUNLIN" store check ${folder%:*} --json
  says "$out" '"whole":true' '"messages":1,' "\"rows\":${folder#*:},"
done
