#include "stores/amqp/amqp_hints.h"

#include <algorithm>
#include <charconv>
#include <fmt/format.h>
#include <optional>
#include <utility>

#include "base/env_posix.h"
#include "base/names.h"
#include "base/wait.h"

namespace dunlin::amqp {
namespace {

constexpr Millis kReachMax = std::chrono::seconds(5);   // Connections and repetitions of a call.
constexpr Millis kAnswerMax = std::chrono::seconds(5);  // Each try.
constexpr Millis kPauseMax = std::chrono::seconds(1);
constexpr Millis kPauseMin = Millis(50);
constexpr size_t kNameMax = 255;  // AMQP has no longer names.

struct Receipt {
  uint64_t generation = 0;
  uint64_t tag = 0;
};

std::string to_text(const Receipt& receipt) {
  return fmt::format("{}-{}", receipt.generation, receipt.tag);
}

Result<Receipt> parse_receipt(std::string_view text) {
  Receipt receipt;
  const char* const end = text.data() + text.size();
  const auto [dash, no_generation] = std::from_chars(text.data(), end, receipt.generation);
  if (no_generation == std::errc() && dash != end && *dash == '-') {
    const auto [rest, no_tag] = std::from_chars(dash + 1, end, receipt.tag);
    if (no_tag == std::errc() && rest == end) return receipt;
  }
  return Error{Code::invalid, fmt::format("{} is not a receipt of RabbitMQ", quote(text))};
}

}  // namespace

Result<std::string> AmqpHints::name_of(std::string_view queue) const {
  std::string name = fmt::format("{}.{}", link_.address().prefix, queue);
  if (!queue.empty() && name.size() <= kNameMax) return name;
  return Error{Code::invalid,
               fmt::format("the queue {} has no name that RabbitMQ takes", quote(queue))};
}

Result<void> AmqpHints::insist(const std::function<Result<void>()>& attempt, bool patient) {
  const Instant give_up = clock_.now() + kReachMax;
  Millis pause{0};
  for (int tries = 1;; ++tries) {
    Result<void> done = link_.connect(give_up);
    if (done.ok()) done = attempt();
    if (done.ok() || done.error().code != Code::unavailable) return done;
    const Instant again = clock_.now() + pause;
    if (again >= give_up || (!patient && tries > 1)) return done;
    wait_until(again, clock_, stopped_.descriptor());
    if (clock_.now() < again) return done;
    pause = std::clamp(pause * 2, kPauseMin, kPauseMax);
  }
}

Result<void> AmqpHints::send_once(const std::string& queue, std::span<const std::string> hints) {
  const Instant deadline = clock_.now() + kAnswerMax;
  TRY(link_.declare(queue, deadline));
  std::vector<std::string> returned = TRY(link_.publish(queue, hints, deadline));
  if (returned.empty()) return {};
  // Somebody has deleted the queue since we declared it.
  link_.forget(queue);
  TRY(link_.declare(queue, deadline));
  returned = TRY(link_.publish(queue, returned, deadline));
  if (returned.empty()) return {};
  return Error{Code::unavailable, fmt::format("the queue {} at {} keeps being deleted", queue,
                                              link_.address().text())};
}

Result<void> AmqpHints::send(std::string_view queue, std::span<const std::string> hints) {
  const std::string name = TRY(name_of(queue));
  for (const std::string& hint : hints) {
    if (hint.size() <= bytes_max()) continue;
    return Error{Code::invalid, fmt::format("a hint of {} bytes for the queue {} is larger than {}",
                                            hint.size(), name, bytes_max())};
  }
  return insist([&] { return send_once(name, hints); }, true);
}

Result<std::vector<AmqpDelivery>> AmqpHints::receive_once(const std::string& queue, size_t max,
                                                          Instant until) {
  const Instant deadline = clock_.now() + kAnswerMax;
  TRY(link_.declare(queue, deadline));
  std::vector<AmqpDelivery> got = TRY(link_.get(queue, max, deadline));
  if (!got.empty() || clock_.now() >= until) return got;
  return link_.wait(queue, max, until, stopped_.descriptor());
}

Result<std::vector<mixed::Hint>> AmqpHints::receive(std::string_view queue, size_t max,
                                                    Millis wait) {
  std::vector<mixed::Hint> hints;
  if (max == 0) return hints;
  const std::string name = TRY(name_of(queue));
  const Instant until = clock_.now() + wait;
  std::vector<AmqpDelivery> got;
  const auto attempt = [&]() -> Result<void> {
    got = TRY(receive_once(name, max, until));
    return {};
  };
  // Whoever waits here looks through the rows instead while the service is away.
  TRY(insist(attempt, false));
  if (generation_ != link_.generation()) unsettled_.clear();
  generation_ = link_.generation();
  for (AmqpDelivery& one : got) {
    unsettled_.insert(one.tag);
    hints.push_back({std::move(one.bytes), to_text({generation_, one.tag})});
  }
  return hints;
}

Result<void> AmqpHints::settle(std::string_view, std::span<const std::string> receipts) {
  std::set<uint64_t> tags;
  for (const std::string& text : receipts) {
    const Receipt receipt = TRY(parse_receipt(text));
    // Those of an older channel have gone back to their queue.
    if (receipt.generation == generation_ && unsettled_.contains(receipt.tag)) {
      tags.insert(receipt.tag);
    }
  }
  if (!link_.open() || link_.generation() != generation_) return {};
  // As many as are the oldest of all at once, the others one by one.
  const auto [oldest, first] =
      std::mismatch(unsettled_.begin(), unsettled_.end(), tags.begin(), tags.end());
  if (first != tags.begin()) TRY(link_.acknowledge(*std::prev(first), true));
  unsettled_.erase(unsettled_.begin(), oldest);
  for (auto tag = first; tag != tags.end(); ++tag) {
    TRY(link_.acknowledge(*tag, false));
    unsettled_.erase(*tag);
  }
  return {};
}

std::unique_ptr<mixed::Hints> amqp_hints(AmqpAddress address, const Clock& clock) {
  return std::make_unique<AmqpHints>(std::move(address), clock);
}

Result<void> check_amqp(const AmqpAddress& address, const Clock& clock) {
  AmqpLink link(address, clock);
  const Instant deadline = clock.now() + kReachMax;
  TRY(link.connect(deadline));
  return link.declare_passing(fmt::format("{}.check.{:016x}", address.prefix, random_seed()),
                              deadline);
}

}  // namespace dunlin::amqp
