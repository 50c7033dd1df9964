#include "hub/http_host.h"

#include <csignal>

#include "backends/open.h"
#include "base/signals.h"

namespace dunlin {
namespace {

constexpr Millis kAnswerMax = std::chrono::seconds(10);

}  // namespace

HttpHost::HttpHost(const Clock& clock, const rest::ServiceOptions& options)
    : clock_(clock), options_(options), families_(rest::all_families()) {}

Result<std::vector<Address>> HttpHost::listen(Server& hub, const std::vector<Address>& addresses) {
  if (addresses.empty()) return std::vector<Address>();
  const std::vector<Address> loopback = TRY(resolve("127.0.0.1:0"));
  const Address own = TRY(hub.listen(loopback.front(), nullptr, true));
  own_url_ = "dunlin://" + own.text();
  const auto open = [this](const std::string& token) {
    return open_store(own_url_, {.token = token, .deadline = kAnswerMax});
  };
  stores_ = std::make_unique<rest::Stores>(open, std::nullopt, clock_);
  service_ = std::make_unique<rest::Service>(clock_, *stores_, families_, options_);
  for (const Address& address : addresses) addresses_.push_back(TRY(service_->listen(address)));
  return addresses_;
}

void HttpHost::start(Server& hub, const std::string& admin_token) {
  if (!service_) return;
  stores_->set_own(admin_token);
  service_->start(watch_signals({SIGTERM, SIGINT}), [&hub] { hub.stop(); });
}

}  // namespace dunlin
