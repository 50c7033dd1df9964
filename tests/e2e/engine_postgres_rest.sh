# What tascaas.sh does, over a store in PostgreSQL.
ENGINE=postgres
source "$(dirname "$0")/tascaas.sh"
