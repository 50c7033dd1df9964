# A store in SQS, DynamoDB and S3 as the AWS-compatible door of a hub gives them; sourced after
# tests/e2e/lib.sh. The words are those of postgres.sh.

# use_keys FILE: what AWS's clients take from the environment; nothing else there counts.
use_keys() {
  unset AWS_SESSION_TOKEN AWS_PROFILE AWS_CA_BUNDLE
  AWS_ACCESS_KEY_ID=$(sed -n 's/^aws_access_key_id = //p' "$1")
  AWS_SECRET_ACCESS_KEY=$(sed -n 's/^aws_secret_access_key = //p' "$1")
  export AWS_ACCESS_KEY_ID AWS_SECRET_ACCESS_KEY AWS_EC2_METADATA_DISABLED=true HOME=$work
}

# start_door OPTIONS...: a hub with a door, whose port is picked once, so that it is there again after a
# kill. Sets $endpoint and $aws_port, and uses the keys of the admin.
start_door() {
  local line
  start_hub --aws "127.0.0.1:${aws_port:-$(free_ports 1)}" "$@"
  read -r -t 60 line <&"$hub_output" # Where the token is.
  read -r -t 60 line <&"$hub_output"
  says "$line" "aws endpoint on http" "://127.0.0.1:"
  endpoint=${line#aws endpoint on }
  aws_port=${endpoint##*:}
  use_keys hub/aws-credentials
}

start_engine() {
  restart_engine
  export DUNLIN_AWS_ENDPOINT=$endpoint
  expect 0 "$DUNLIN" store init
  export SERVER="$DUNLIN hub --data $work/hub --listen 127.0.0.1:0 --aws 127.0.0.1:$aws_port"
}
kill_engine() { kill_hub; }
restart_engine() {
  start_door
  export DUNLIN_AT=aws:us-east-1/lab
}
