// The hub behind the AWS-compatible door: it knows the secrets of access keys, and opens sessions
// of its mind with the rights of a key. Blocks only as the engine does. One thread, the hub's loop.
#pragma once

#include <absl/container/flat_hash_map.h>
#include <string>
#include <vector>

#include "doors/aws/door.h"
#include "hub/sessions.h"

namespace dunlin::hub {

class AwsHost final : public aws::DoorHost, public Guest {
 public:
  // REQUIRES: called before the door serves anybody. All must outlive it.
  void attach(Sessions& sessions, aws::Door& door, const Clock& clock, std::string admin_token);

  Result<std::string> secret_of(std::string_view key_id, WallTime now) override;
  uint64_t open(std::string_view key_id, WallTime now) override;
  void close(uint64_t session) override;
  Result<void> may(uint64_t session, const std::vector<Request>& steps) const override;
  bool busy(uint64_t session) const override { return mind_->busy(session); }
  void ask(uint64_t session, uint64_t id, Request&& request, Instant now) override;

  void answered(Reply&& reply, Instant now) override;

 private:
  HubMind* mind_ = nullptr;
  aws::Door* door_ = nullptr;
  const Clock* clock_ = nullptr;
  std::string admin_token_;
  absl::flat_hash_map<uint64_t, Rights> rights_;  // Of the sessions that are open.
  // Above all ids of peers, which are sessions too.
  uint64_t last_session_ = uint64_t{1} << 63U;
};

}  // namespace dunlin::hub
