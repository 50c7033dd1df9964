# The kill campaign with a PostgreSQL server in place of the hub.
ENGINE=postgres KILLS=${KILLS:-40} HUB_KILLS=${HUB_KILLS:-4} TASKS=${TASKS:-4000}
export ENGINE KILLS HUB_KILLS TASKS
source "$(dirname "$0")/kill_tasks.sh"
