# More connections that say nothing than the services have places, without a token: others are
# served all the same, over each door.
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
# Those that are left are let go within the time for a first request.
within 30 sh -c "[ \$(ls /proc/$hub/fd | wc -l) -lt 100 ]"
stop_hub
