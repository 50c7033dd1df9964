// An AsyncStore over one connection to a PostgreSQL server, in a thread of its own: requests one
// after the other, and pulls that wait are tried again when their queue's bell rings.
#pragma once

#include <memory>

#include "stores/async_store.h"
#include "stores/postgres/link.h"

namespace dunlin::stores {

std::unique_ptr<AsyncStore> async_pg_store(postgres::PgAddress address, const Clock& clock);

}  // namespace dunlin::stores
