// Our own API, under /api/v1. Its routes come from several files; each adds its own. Pure; the
// handlers run in the threads of their connections.
#pragma once

#include <vector>

#include "doors/rest/server/route.h"

namespace dunlin::rest {

Family api_family();
void add_health_routes(std::vector<Route>& routes);
void add_job_routes(std::vector<Route>& routes);
void add_task_routes(std::vector<Route>& routes);
void add_partition_routes(std::vector<Route>& routes);
void add_event_routes(std::vector<Route>& routes);
void add_pool_routes(std::vector<Route>& routes);
void add_blob_routes(std::vector<Route>& routes);
void add_document_routes(std::vector<Route>& routes);

}  // namespace dunlin::rest
