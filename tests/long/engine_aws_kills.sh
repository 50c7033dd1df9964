# The kill campaign on SQS, DynamoDB and S3 at length.
KILLS=${KILLS:-150} HUB_KILLS=${HUB_KILLS:-30} TASKS=${TASKS:-10000}
PATIENCE=${PATIENCE:-1800}  # Seconds that a job may take.
export PATIENCE KILLS HUB_KILLS TASKS
source "$(dirname "$0")/../e2e/engine_aws_kills.sh"
