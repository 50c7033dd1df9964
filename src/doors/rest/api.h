// The families of routes that the service has, one file each. Another one is a function here and a
// line in all_families(). Pure; the handlers run in the threads of their connections.
#pragma once

#include <vector>

#include "doors/rest/route.h"

namespace dunlin::rest {

// Our own API, under /api/v1. Its routes come from several files; each adds its own.
Family api_family();
void add_health_routes(std::vector<Route>& routes);
void add_job_routes(std::vector<Route>& routes);
void add_task_routes(std::vector<Route>& routes);
void add_partition_routes(std::vector<Route>& routes);
void add_event_routes(std::vector<Route>& routes);
void add_pool_routes(std::vector<Route>& routes);
void add_blob_routes(std::vector<Route>& routes);
void add_document_routes(std::vector<Route>& routes);

// What a tenant of TaScaaS does with its own secret, under /tenant/v1.
Family tenant_family();

// TaScaaS's own routes, under any prefix, as its clients know them.
Family tascaas_family();

std::vector<Family> all_families();

}  // namespace dunlin::rest
