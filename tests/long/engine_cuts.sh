# Connections to each engine are cut 1,000 times.
CUTS=${CUTS:-1000}
export CUTS
source "$(dirname "$0")/../e2e/engine_cuts.sh"
