# The kill campaign on PostgreSQL and RabbitMQ, both of which are killed, too.
ENGINE=mixed KILLS=${KILLS:-40} HUB_KILLS=${HUB_KILLS:-4} QUEUE_KILLS=${QUEUE_KILLS:-4} TASKS=${TASKS:-4000}
export ENGINE KILLS HUB_KILLS QUEUE_KILLS TASKS
source "$(dirname "$0")/kill_tasks.sh"
