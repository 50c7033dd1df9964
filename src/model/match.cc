#include "model/match.h"

namespace dunlin {

std::vector<Lack> lacks_of(const model::Requirements& needs, const Offer& offer) {
  std::vector<Lack> lacks;
  for (const std::string& tag : needs.tags()) {
    if (!offer.has_tag(tag)) lacks.push_back({.what = Lack::What::tag, .tag = tag});
  }
  const auto compare = [&](Lack::What what, uint64_t needed, uint64_t has) {
    if (needed > has) lacks.push_back({.what = what, .needed = needed, .has = has});
  };
  compare(Lack::What::cpus, needs.cpus(), offer.slots);
  compare(Lack::What::memory, needs.mem_bytes(), offer.mem_bytes);
  compare(Lack::What::gpus, needs.gpus(), offer.gpus);
  return lacks;
}

}  // namespace dunlin
