#include "hub/aws_host.h"

#include <utility>

#include "base/check.h"
#include "hub/access/aws_keys.h"

namespace dunlin::hub {

void AwsHost::attach(Sessions& sessions, aws::Door& door, const Clock& clock,
                     std::string admin_token) {
  clock_ = &clock;
  mind_ = &sessions.mind();
  door_ = &door;
  admin_token_ = std::move(admin_token);
  sessions.invite(*this);
}

Result<std::string> AwsHost::secret_of(std::string_view key_id, WallTime now) {
  TRY(check_aws_key(key_id, now));
  return aws_secret(admin_token_, key_id);
}

uint64_t AwsHost::open(std::string_view key_id, WallTime now) {
  const uint64_t session = ++last_session_;
  // It may have expired since its secret was asked for: then it allows nothing.
  const Result<Rights> checked = key_id.empty() ? Rights(Scope::admin) : check_aws_key(key_id, now);
  Rights rights = checked.ok() ? checked.value() : Rights();
  rights.door = true;
  rights_[session] = rights;
  mind_->opened(session, std::move(rights));
  return session;
}

void AwsHost::close(uint64_t session) {
  mind_->closed(session);
  rights_.erase(session);
}

Result<void> AwsHost::may(uint64_t session, const std::vector<Request>& steps) const {
  const auto found = rights_.find(session);
  CHECK(found != rights_.end());
  Result<void> all = {};
  for (const Request& step : steps) {
    if (Result<void> one = allows(found->second, step); !one.ok()) all = std::move(one);
  }
  return all;
}

void AwsHost::ask(uint64_t session, uint64_t id, Request&& request, Instant now) {
  const Result<void> lasts = limit_to_life(rights_.at(session), clock_->wall(), request);
  if (!lasts.ok()) return mind_->refuse(session, id, lasts.error());
  mind_->request(session, id, std::move(request), now);
}

void AwsHost::answered(Reply&& reply, Instant now) {
  door_->answered(reply.session, reply.id, std::move(reply.answer), now);
}

}  // namespace dunlin::hub
