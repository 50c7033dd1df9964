# The kill campaign on a hub at length: 2,000 workers and 200 hubs are killed while 100,000 tasks run.
KILLS=${KILLS:-2000} HUB_KILLS=${HUB_KILLS:-200} TASKS=${TASKS:-100000}
PATIENCE=${PATIENCE:-1800}  # Seconds that a job may take.
export PATIENCE KILLS HUB_KILLS TASKS
source "$(dirname "$0")/../e2e/kill_tasks.sh"
