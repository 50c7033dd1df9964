#include "doors/aws/s3/intake.h"

#include <algorithm>

namespace dunlin::aws {

BlobIntake::BlobIntake(Call& call, const std::vector<ChecksumKind>& kinds,
                       std::function<void(Intake&)> then)
    : call_(call), then_(std::move(then)), upload_(call.fresh_number()) {
  for (const ChecksumKind kind : kinds) sums_.emplace_back(kind);
}

BlobIntake::~BlobIntake() {
  if (named_ && !kept_) call_.forget({piece_.blob});
}

const Checksum* BlobIntake::checksum(ChecksumKind kind) const {
  const auto found = std::ranges::find(checksums_, kind, &Checksum::kind);
  return found == checksums_.end() ? nullptr : &*found;
}

void BlobIntake::pump() {
  if (pending_.size() >= kBlobPart || (ended_ && !pending_.empty())) return send_part();
  ended_ ? finish() : read_more();
}

void BlobIntake::take(const std::string& bytes) {
  md5_.update(bytes);
  for (ChecksumSum& sum : sums_) sum.update(bytes);
  piece_.size += bytes.size();
  pending_ += bytes;
}

void BlobIntake::send_part() {
  BlobPart part{upload_, offset_, pending_.substr(0, kBlobPart)};
  pending_.erase(0, part.bytes.size());
  offset_ += part.bytes.size();
  call_.ask(std::move(part), [this](Answer&& answer) {
    if (s3_expect<Done>(call_, answer)) pump();
  });
}

void BlobIntake::finish() {
  md5_bytes_ = md5_.finish();
  for (ChecksumSum& sum : sums_) checksums_.push_back(sum.finish());
  if (!is_as_said()) return;
  piece_.blob = call_.fresh_blob();
  named_ = true;
  // In one turn, so in one commit, in this order.
  call_.ask(Commit{0, {loosen(piece_.blob)}}, [this](Answer&& answer) {
    if (const auto* error = std::get_if<Error>(&answer)) failed_ = *error;
  });
  call_.ask(BlobEnd{upload_, piece_.blob, piece_.size}, [this](Answer&& answer) {
    if (failed_) return s3_fail(call_, *failed_);
    if (!s3_expect<Done>(call_, answer)) return;
    const std::function<void(Intake&)> then = std::move(then_);
    then(*this);
  });
}

}  // namespace dunlin::aws
