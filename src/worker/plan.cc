#include "worker/plan.h"

#include <algorithm>

#include "model/inputs.h"

namespace dunlin {

bool PageView::has_outcome(uint32_t offset) const {
  for (const model::Outcome& outcome : page.outcomes()) {
    if (outcome.offset() == offset) return true;
  }
  return false;
}

uint32_t PageView::claims_of(uint32_t offset) const {
  uint32_t count = 0;
  for (const model::Claim& claim : page.claims()) {
    if (claim.offset() == offset) count += claim.earlier() + (claim.attempt() > 0 ? 1 : 0);
  }
  return count;
}

void add_claim(model::Page& page, uint32_t offset, uint32_t attempt, const std::string& worker) {
  auto& claims = *page.mutable_claims();
  const auto found = std::ranges::find(claims, offset, &model::Claim::offset);
  model::Claim& claim = found == claims.end() ? *page.add_claims() : *found;
  if (claim.attempt() > 0) claim.set_earlier(claim.earlier() + 1);
  claim.set_offset(offset);
  claim.set_attempt(attempt);
  claim.set_worker(worker);
}

void forget_claims(model::Page& page, uint32_t offset, std::optional<uint32_t> attempt) {
  auto& claims = *page.mutable_claims();
  const auto claim = std::ranges::find(claims, offset, &model::Claim::offset);
  if (claim == claims.end() || (attempt && claim->attempt() != *attempt)) return;
  if (attempt && claim->earlier() > 0) {
    claim->set_attempt(0);
    claim->clear_worker();
    return;
  }
  claims.erase(claim);
}

bool PageView::is_moved(uint32_t offset) const { return has_bit(page.moved(), offset); }

Millis backoff_of(const model::Spec& spec, uint32_t failures) {
  constexpr uint32_t kDoublings = 16;
  return Millis(static_cast<Millis::rep>(spec.backoff_ms() << std::min(failures, kDoublings)));
}

Result<void> prepare(Plan& plan) {
  for (const model::Source& source : plan.spec().inputs().sources()) {
    std::vector<std::string> values;
    if (source.blob().empty()) {
      values = TRY(read_values(source.inline_()));
      if (values.size() != source.count()) {
        return Error{Code::corrupt,
                     "the inputs of job " + plan.job + " are not as many as it says"};
      }
    }
    plan.values.push_back(std::move(values));
  }
  return {};
}

}  // namespace dunlin
