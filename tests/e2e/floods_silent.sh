# Without a token: more connections that say nothing, or send what nobody wants byte by byte, than
# the services have places, and many small pieces. Others are served all the same, over each door.
source "$(dirname "$0")/lib.sh"
start_hub --http 127.0.0.1:0 --aws 127.0.0.1:0
rest= door=
while read -r -t 60 line <&"$hub_output"; do
  case $line in
    "aws endpoint on http://"*) door=${line#aws endpoint on http://} ;;
    "http on http://"*) rest=${line#http on http://} && break ;;
  esac
done
timeout 120 python3 "$here/floods.py" silent "${url#dunlin://}" "$rest" "$door" "$(<hub/token)" ||
  fail "floods.py silent"
timeout 120 python3 "$here/floods.py" pieces "${url#dunlin://}" "$door" "$(<hub/token)" ||
  fail "floods.py pieces"
timeout 120 python3 "$here/floods.py" dribble "$rest" "$(<hub/token)" || fail "floods.py dribble"
# Those that are left are let go within the time for a first request. The service keeps 64 of its own
# connections to the hub, which have two ends here.
within 30 sh -c "[ \$(ls /proc/$hub/fd | wc -l) -lt 200 ]"
stop_hub
