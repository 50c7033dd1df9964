// The REST service inside a hub: its threads speak to the hub as any client does, each request with
// the rights of its own token.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "doors/rest/families.h"
#include "doors/rest/server/call.h"
#include "doors/rest/server/service.h"
#include "net/server.h"

namespace dunlin::hub {

class HttpHost {
 public:
  // `own_url`: of the hub.
  HttpHost(const Clock& clock, std::string own_url, const rest::ServiceOptions& options);

  // Where it was bound. Nothing is opened if there are no addresses.
  Result<std::vector<net::Address>> listen(const std::vector<net::Address>& addresses);

  // Stops itself and then the hub when a signal asks for that. Does nothing if there are no
  // addresses. REQUIRES: the hub outlives it and runs; no other thread has begun.
  void start(net::Server& hub, const std::string& admin_token);

 private:
  const Clock& clock_;
  const std::string own_url_;
  const rest::ServiceOptions options_;
  const std::vector<rest::Family> families_;
  std::vector<net::Address> addresses_;
  std::unique_ptr<rest::Stores> stores_;
  std::unique_ptr<rest::Service> service_;
};

}  // namespace dunlin::hub
