// /lb/*: partitions start, report what they have done, and finish.
#include <charconv>
#include <cmath>
#include <fmt/format.h>

#include "balance/task.h"
#include "doors/rest/tascaas/calls.h"
#include "tascaas/turns.h"

namespace dunlin::rest {
namespace {

using tascaas::Said;
using tascaas::Word;

constexpr double kElapsedMaxS = 1e10;

// Seconds, whole or not.
std::optional<Millis> read_elapsed(const std::string& text) {
  double seconds = 0;
  const char* end = text.data() + text.size();
  const auto parsed = std::from_chars(text.data(), end, seconds, std::chars_format::fixed);
  if (parsed.ec != std::errc() || parsed.ptr != end) return {};
  if (!(seconds >= 0 && seconds <= kElapsedMaxS)) return {};
  return Millis(std::llround(seconds * 1000));
}

// What the query says, or why it cannot be used.
Result<Said> read_said(const Call& call, Word word) {
  const auto refuse = [](const char* why) { return Error{Code::invalid, why}; };
  if (call.head().query.empty()) return refuse("missing query parameters");
  Said said{.word = word};
  const Given worker = given(call, "worker", 0, UINT32_MAX);
  if (worker.missing) return refuse("missing worker number");
  if (word != Word::start) {
    const Given done = given(call, "nIter", 0, balance::kIterationsMax);
    if (done.missing) return refuse("missing iterations done");
    if (!done.number) return refuse("invalid iterations done");
    said.done = *done.number;
  }
  const std::string* elapsed = call.query("dt");
  if (elapsed == nullptr || elapsed->empty()) return refuse("missing elapsed time");
  if (!worker.said) return refuse("invalid worker number");
  if (!worker.number) return refuse("Worker out of range");
  said.partition = *worker.number;
  const std::optional<Millis> time = read_elapsed(*elapsed);
  if (!time) return refuse("invalid elapsed time");
  said.elapsed = *time;
  return said;
}

// The blanks are what clients' parsers want.
std::string text_of(const Said& said, const balance::Share& share) {
  if (share.code != balance::Code::ok) {
    return fmt::format("{} {}\n", static_cast<int>(said.word), static_cast<int>(share.code));
  }
  if (said.word == Word::finish) return "0\n";
  return fmt::format("0{}\n Assigned: {}\n ETA: {}\n", said.word == Word::start ? " " : "",
                     share.assigned, share.eta);
}

Result<void> take(Call& call, Store& store, Word word) {
  const Result<Said> said = read_said(call, word);
  if (!said.ok()) return call.reply(plain_text(400, said.error().what));
  ServiceCache& cache = call.setting().cache;
  std::unique_lock turn = cache.take_turns(call.path("job"));
  const auto share =
      tascaas::next_iterations(store, call.path("job"), said.value(), call.now(), &cache);
  turn.unlock();
  if (share.ok()) return call.reply(plain_text(200, text_of(said.value(), share.value())));
  switch (share.error().code) {
    case Code::not_found:
      return call.reply(plain_text(400, "Dynamo table/item doesn't exist"));
    case Code::invalid:
      return call.reply(plain_text(400, "Worker out of range"));
    case Code::denied:
      return call.reply(plain_text(400, share.error().what));
    case Code::conflict:
    case Code::full:
    case Code::unavailable:
    case Code::corrupt:
    case Code::unsupported:
      break;
  }
  return share.error();
}

Result<void> do_start(Call& call, Store& store) { return take(call, store, Word::start); }
Result<void> do_report(Call& call, Store& store) { return take(call, store, Word::report); }
Result<void> do_finish(Call& call, Store& store) { return take(call, store, Word::finish); }

Route lb_route(std::string_view pattern, std::string_view summary, Handler handler) {
  return {.method = "GET",
          .pattern = pattern,
          .summary = summary,
          .parameters = {kJobPath,
                         {.name = "worker",
                          .type = Type::number,
                          .required = true,
                          .most = UINT32_MAX,
                          .summary = "The partition's number"},
                         {.name = "dt",
                          .required = true,
                          .summary = "Seconds since the partition has started, by its own clock"}},
          .reply_schema = kText,
          .handler = handler,
          .reply_type = kTextType};
}

}  // namespace

void add_lb_routes(std::vector<Route>& routes) {
  const Parameter done{.name = "nIter",
                       .type = Type::number,
                       .required = true,
                       .most = static_cast<int64_t>(balance::kIterationsMax),
                       .summary = "Iterations that it has done, or about so many"};
  routes.push_back(lb_route("/lb/{job}/start", "A partition begins, or begins again", do_start));
  routes.push_back(lb_route("/lb/{job}/report", "What a partition has done", do_report));
  routes.back().parameters.push_back(done);
  routes.push_back(lb_route("/lb/{job}/finish", "A partition ends", do_finish));
  routes.back().parameters.push_back(done);
}

}  // namespace dunlin::rest
