# The kill campaign on PostgreSQL and RabbitMQ, both of which are killed, too.
ENGINE=mixed KILLS=${KILLS:-12} HUB_KILLS=${HUB_KILLS:-2} QUEUE_KILLS=${QUEUE_KILLS:-2} TASKS=${TASKS:-1600}
export ENGINE KILLS HUB_KILLS QUEUE_KILLS TASKS
source "$(dirname "$0")/kill_tasks.sh"
