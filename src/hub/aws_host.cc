#include "hub/aws_host.h"

#include <utility>

#include "hub/aws_keys.h"

namespace dunlin {

void AwsHost::attach(Sessions& sessions, aws::Door& door, std::string admin_token) {
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
  if (key_id.empty()) {
    mind_->opened(session, Scope::admin);
  } else {
    // It may have expired since its secret was asked for: then it allows nothing.
    const Result<Scopes> scopes = check_aws_key(key_id, now);
    mind_->opened(session, scopes.ok() ? scopes.value() : Scopes());
  }
  return session;
}

void AwsHost::close(uint64_t session) { mind_->closed(session); }

void AwsHost::ask(uint64_t session, uint64_t id, Request&& request, Instant now) {
  mind_->request(session, id, std::move(request), now);
}

void AwsHost::answered(Reply&& reply, Instant now) {
  door_->answered(reply.session, reply.id, std::move(reply.answer), now);
}

}  // namespace dunlin
