#include "doors/rest/api/api.h"

#include <nlohmann/json.hpp>

namespace dunlin::rest {

Family api_family() {
  Family family{
      .prefix = "/api/v1", .style = Style::problem, .bearer = true, .checked = true, .routes = {}};
  add_health_routes(family.routes);
  add_job_routes(family.routes);
  add_task_routes(family.routes);
  add_partition_routes(family.routes);
  add_event_routes(family.routes);
  add_pool_routes(family.routes);
  add_blob_routes(family.routes);
  add_document_routes(family.routes);
  return family;
}

}  // namespace dunlin::rest
