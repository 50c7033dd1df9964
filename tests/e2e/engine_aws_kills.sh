# The kill campaign on SQS, DynamoDB and S3, as the door of a hub gives them; that hub is killed, too.
ENGINE=aws KILLS=${KILLS:-8} HUB_KILLS=${HUB_KILLS:-2} TASKS=${TASKS:-1000}
export ENGINE KILLS HUB_KILLS TASKS
source "$(dirname "$0")/kill_tasks.sh"
