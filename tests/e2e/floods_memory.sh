# Clients that make a hub keep much: half frames, half bodies, millions of values, an explosive
# expression, tiny requests, a flood of strangers. Its memory stays within what it promises, and
# others are served meanwhile.
source "$(dirname "$0")/lib.sh"
flood() { timeout 120 python3 "$here/floods.py" "$@" || fail "floods.py $1"; }

start_hub --http 127.0.0.1:0 --aws 127.0.0.1:0
rest= door=
while read -r -t 60 line <&"$hub_output"; do
  case $line in
    "aws endpoint on http://"*) door=${line#aws endpoint on http://} ;;
    "http on http://"*) rest=${line#http on http://} && break ;;
  esac
done
"$DUNLIN" token --data hub --scope submit,read >writer
"$DUNLIN" token --data hub --scope read --aws >reader.aws
native=${url#dunlin://}

flood garbage "$native"
[ "$(wc -l <hub.log)" -lt 120 ] || fail "a line in the log for each stranger"
flood frames "$hub" "$native" "$(<writer)"
flood small "$hub" "$native" "$(<writer)"
flood json "$hub" "$door" reader.aws
flood bodies "$hub" "$rest" "$(<writer)"

for colsep in '((((a{1,99}){1,99}){1,99}))' '(((a{250}){250}){250})' 'a{32767}{32767}'; do
  status=$(jq -n --arg it "$colsep" '{line: "x", values: ["a"], colsep: $it}' |
    curl -s -o reply -w '%{http_code}' -H "Authorization: Bearer $(<writer)" \
      -H 'Content-Type: application/json' -d @- "http://$rest/api/v1/jobs")
  same "$status" 400
  says "$(<reply)" "is not a regular expression"
done
same "$(curl -s -o reply -w '%{http_code}' -H "Authorization: Bearer $(<writer)" \
  -H 'Content-Type: application/json' -d '{"line":"x","env":{"A":"1","A":"2"}}' \
  "http://$rest/api/v1/jobs")" 400
says "$(<reply)" "appears twice"

within 15 grep -q "more lines about connections were left out" hub.log
[ "$(awk '/^VmRSS/ {print $2}' /proc/"$hub"/status)" -lt $((200 << 10)) ] || fail "it keeps memory"
stop_hub
