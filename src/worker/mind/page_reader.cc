#include "worker/mind/page_reader.h"

#include <algorithm>
#include <utility>

#include "base/log.h"

namespace dunlin::worker {
namespace {

bool is_sound(const model::Page& page) {
  const auto inside = [](const auto& one) { return one.offset() < kPageTasks; };
  return std::ranges::all_of(page.outcomes(), inside) && std::ranges::all_of(page.claims(), inside);
}

}  // namespace

void PageReader::read(JobView& job, uint64_t number, std::function<void()> then) {
  PageView& view = job.pages[number];
  if (view.asked && !then) return;
  view.asked = true;
  asks_.ask(
      Get{std::string(kPages), {page_key(job.id, number)}},
      [this, pin = Pin(job), number, era = view.era, then = std::move(then)](Answer&& answer) {
        auto* rows = std::get_if<Rows>(&answer);
        const auto* error = std::get_if<Error>(&answer);
        if (rows != nullptr && !rows->rows.empty()) {
          was_read(*pin, number, era, std::move(rows->rows[0]));
        } else {
          found_bad(*pin, number, error == nullptr ? "it is not given" : error->what);
        }
        if (then) then();
      },
      Asks::Hears::refusals);
}

void PageReader::found_bad(JobView& job, uint64_t number, const std::string& why) {
  PageView& view = job.pages[number];
  view.asked = true;  // Nothing is written to it, and none of its tasks is started.
  ranges_.see_damage();
  if (!std::exchange(view.bad, true)) {
    for (PendingClaim& claim : view.claims) claim.place.release();
    log::error("page {} of job {} cannot be used, its tasks wait until it is repaired: {}", number,
               job.id, why);
  }
  asks_.later(kBadRowWait, [this, pin = Pin(job), number] {
    pin->pages[number].asked = false;
    if (pin->held > 0) read(*pin, number);
  });
}

void PageReader::was_read(JobView& job, uint64_t number, uint64_t era, Row&& row) {
  PageView& view = job.pages[number];
  view.asked = false;
  // What was read may be older than what we hold by now: then it says nothing, least of all that
  // the page is full.
  if (era != view.era) return;
  view.known = true;
  view.version = row.version;
  view.page.Clear();
  if (row.version != 0 && !(view.page.ParseFromString(row.value) && is_sound(view.page))) {
    view.known = false;
    view.version = 0;  // Whatever we write without having read it again must conflict.
    view.page.Clear();
    return found_bad(job, number, "its bytes do not parse as a page");
  }
  if (std::exchange(view.bad, false)) {
    for (PendingClaim& claim : view.claims) claim.place = room_.claim();
  }
  if (view.page.round() > job.round) {
    ranges_.open_again(job, view.page.round());
    view.known = true;
  }
  // Whoever made it full may have died before it told the tree.
  if (job.ready && is_full(view.page, number, job.spec().tasks())) owe_bits(job, number, view);
}

void PageReader::owe_bits(JobView& job, uint64_t number, const PageView& view) {
  bool ours = false;
  for (auto& [id, held] : ranges_.all()) {
    const bool inside = held.job.get() == &job && held.seen && page_of(held.first()) <= number &&
                        held.first() < held.last() && number <= page_of(held.last() - 1);
    if (!inside) continue;
    ours = true;
    held.bits.insert(number);
  }
  if (ours) job.full.insert_or_assign(number, counts_of(view.page));
}

void PageReader::owe_bit(Held& held, uint64_t number) {
  JobView& job = *held.job;
  if (!job.full.contains(number)) {
    const auto found = job.pages.find(number);
    if (found == job.pages.end() || !found->second.known) return;
    if (!is_full(found->second.page, number, job.spec().tasks())) return;
    job.full.emplace(number, counts_of(found->second.page));
  }
  held.bits.insert(number);
}

}  // namespace dunlin::worker
