# A store in SQS, DynamoDB and S3 as the AWS-compatible door of a hub gives them; sourced after
# tests/e2e/lib.sh. The words are those of postgres.sh.
source "$here/../engines/postgres.sh" # free_port

start_door() {
  start_hub --listen "127.0.0.1:$port" --aws "127.0.0.1:$aws_port"
}

start_engine() {
  unset AWS_SESSION_TOKEN AWS_PROFILE AWS_CA_BUNDLE
  port=$(free_port)
  aws_port=$(free_port)
  start_door
  AWS_ACCESS_KEY_ID=$(sed -n 's/^aws_access_key_id = //p' hub/aws-credentials)
  AWS_SECRET_ACCESS_KEY=$(sed -n 's/^aws_secret_access_key = //p' hub/aws-credentials)
  export AWS_ACCESS_KEY_ID AWS_SECRET_ACCESS_KEY AWS_EC2_METADATA_DISABLED=true HOME=$work
  export DUNLIN_AT=aws:us-east-1/lab DUNLIN_AWS_ENDPOINT=http://127.0.0.1:$aws_port
  export SERVER="$DUNLIN hub --data $work/hub --listen 127.0.0.1:$port --aws 127.0.0.1:$aws_port"
}

kill_engine() { kill_hub; }
restart_engine() {
  start_door
  export DUNLIN_AT=aws:us-east-1/lab
}
