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
    if (claim.offset() == offset) count += 1 + claim.earlier();
  }
  return count;
}

void make_room_for_claim(model::Page& page, uint32_t offset) {
  auto& claims = *page.mutable_claims();
  const auto same = [&](const model::Claim& claim) { return claim.offset() == offset; };
  if (std::ranges::count_if(claims, same) < kClaimsKept) return;
  const auto oldest = std::ranges::find_if(claims, same);
  const auto next = std::find_if(oldest + 1, claims.end(), same);
  next->set_earlier(next->earlier() + 1 + oldest->earlier());
  claims.erase(oldest);
}

bool PageView::is_moved(uint32_t offset) const { return has_bit(page.moved(), offset); }

Millis backoff_of(const model::Spec& spec, uint32_t failures) {
  constexpr uint32_t kDoublings = 16;
  return Millis(static_cast<Millis::rep>(spec.backoff_ms() << std::min(failures, kDoublings)));
}

Result<void> prepare(Plan& plan) {
  for (const model::Source& source : plan.spec.inputs().sources()) {
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
