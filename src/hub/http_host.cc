#include "hub/http_host.h"

#include <csignal>

#include "base/signals.h"
#include "stores/open.h"

namespace dunlin::hub {
namespace {

constexpr Millis kAnswerMax = std::chrono::seconds(10);

}  // namespace

HttpHost::HttpHost(const Clock& clock, std::string own_url, const rest::ServiceOptions& options)
    : clock_(clock),
      own_url_(std::move(own_url)),
      options_(options),
      families_(rest::all_families()) {}

Result<std::vector<net::Address>> HttpHost::listen(const std::vector<net::Address>& addresses) {
  if (addresses.empty()) return std::vector<net::Address>();
  const auto open = [this](const std::string& token) {
    return stores::open_store(own_url_, {.token = token, .deadline = kAnswerMax});
  };
  stores_ = std::make_unique<rest::Stores>(open, std::nullopt, clock_);
  service_ = std::make_unique<rest::Service>(clock_, *stores_, families_, options_);
  for (const net::Address& address : addresses)
    addresses_.push_back(TRY(service_->listen(address)));
  return addresses_;
}

void HttpHost::start(net::Server& hub, const std::string& admin_token) {
  if (!service_) return;
  stores_->set_own(admin_token);
  service_->start(watch_signals({SIGTERM, SIGINT}), [&hub] { hub.stop(); });
}

}  // namespace dunlin::hub
