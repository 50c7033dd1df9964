// The store behind `dunlin hub`, over the network: requests go to the hub, and a lost connection is
// made again and the unanswered ones repeated, so a caller notices a restart only as a pause. One
// thread at a time.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/env.h"
#include "base/result.h"
#include "net/stream.h"
#include "net/tls.h"
#include "store/request_store.h"
#include "wire/hub_client_mind.h"

namespace dunlin::stores {

struct HubAddress {
  std::string host;
  uint16_t port = 0;
  bool tls = false;
};

struct HubOptions {
  std::string token = {};
  std::string tls_ca = {};  // A PEM file of authorities to trust; empty: those of the system.
  Millis deadline = std::chrono::seconds(60);     // For the answer to a request.
  Millis connect_wait = std::chrono::seconds(3);  // For the first connection.
};

class HubStore final : public RequestStore {
  struct Private {};

 public:
  HubStore(Private, const HubAddress& address, const HubOptions& options, const Clock& clock,
           std::optional<net::TlsContext> tls);

  // Several requests under way at once: post them, then await each answer, once, in any order. The
  // answer is `full` if there are too many bytes under way. REQUIRES: validate(request).ok(), and
  // fewer than kPostedMax are posted and not awaited.
  static constexpr size_t kPostedMax = 4096;
  uint64_t post(Request&& request);
  Answer await(uint64_t id);

  // For a loop that must not block: all answers that are there, or the first that come until
  // `until`; none if the descriptor `also` can be read before that.
  std::vector<NumberedAnswer> gather(Instant until, int also);

 protected:
  Answer call(Request&& request) override { return await(post(std::move(request))); }

 private:
  friend Result<std::unique_ptr<HubStore>> open_hub(const HubAddress& address,
                                                    const HubOptions& options, const Clock& clock);

  Result<void> meet(Millis wait);
  void turn(Instant until, int also = -1);
  bool carry_out(Instant until);
  void make_connection(Instant until);
  void lose_connection(const Error& why);

  HubAddress address_;
  Millis deadline_;
  const Clock& clock_;
  std::optional<net::TlsContext> tls_;
  HubClientMind mind_;
  std::optional<net::Stream> stream_;
  std::map<uint64_t, Answer> answered_;  // And not yet awaited.
};

// Connects and says hello, so that a wrong address or token shows at once: `unavailable` if nobody
// answers within connect_wait, `denied` if the hub does not want us. `clock` must outlive the
// store.
Result<std::unique_ptr<HubStore>> open_hub(const HubAddress& address, const HubOptions& options,
                                           const Clock& clock);

}  // namespace dunlin::stores
