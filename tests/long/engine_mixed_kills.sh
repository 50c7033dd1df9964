# The kill campaign on PostgreSQL and RabbitMQ at length.
KILLS=${KILLS:-300} HUB_KILLS=${HUB_KILLS:-30} QUEUE_KILLS=${QUEUE_KILLS:-30} TASKS=${TASKS:-20000}
PATIENCE=${PATIENCE:-1800}  # Seconds that a job may take.
export PATIENCE KILLS HUB_KILLS QUEUE_KILLS TASKS
source "$(dirname "$0")/../e2e/engine_mixed_kills.sh"
