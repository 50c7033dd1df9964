# The kill campaign with a PostgreSQL server in place of the hub.
ENGINE=postgres KILLS=${KILLS:-12} HUB_KILLS=${HUB_KILLS:-2} TASKS=${TASKS:-1600}
export ENGINE KILLS HUB_KILLS TASKS
source "$(dirname "$0")/kill_tasks.sh"
