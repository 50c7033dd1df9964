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
  for (const model::Claim& claim : page.claims()) count += claim.offset() == offset ? 1 : 0;
  return count;
}

bool PageView::is_moved(uint32_t offset) const { return has_bit(page.moved(), offset); }

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
Millis backoff_of(const model::Spec& spec, uint32_t failures) {
  constexpr uint32_t kDoublings = 16;
  return Millis(static_cast<Millis::rep>(spec.backoff_ms() << std::min(failures, kDoublings)));
}

  return {};
}

}  // namespace dunlin
