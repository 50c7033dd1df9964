# The kill campaign on SQS, DynamoDB and S3, as the door of a hub gives them; that hub is killed, too.
ENGINE=aws KILLS=${KILLS:-20} HUB_KILLS=${HUB_KILLS:-4} TASKS=${TASKS:-2000}
export ENGINE KILLS HUB_KILLS TASKS
source "$(dirname "$0")/kill_tasks.sh"
