# A hub under load is killed 500 times: nothing acknowledged is lost, nothing done twice.
KILLS=${KILLS:-500}
export KILLS
source "$(dirname "$0")/../e2e/kill_hub.sh"
