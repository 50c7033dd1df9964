// The tables and functions that a store needs in a PostgreSQL database, all in one schema. Calls
// block until their deadline at most; one thread, as the link.
#pragma once

#include "base/env.h"
#include "base/result.h"
#include "stores/postgres/link.h"

namespace dunlin::postgres {

inline constexpr int kPgSchemaVersion = 2;

// Makes the schema, or brings an older one up to date. False: it was there already. `conflict` if
// it belongs to another program or to a newer Dunlin.
Result<bool> init_schema(PgLink& link, Instant deadline);

// That the schema is there and is ours. `invalid` says what to do.
Result<void> check_schema(PgLink& link, Instant deadline);

// Removes it with all that is in it.
Result<void> destroy_schema(PgLink& link, Instant deadline);

}  // namespace dunlin::postgres
