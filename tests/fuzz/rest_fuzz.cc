// The REST service among clients that say what they like.
//
//   byte    0: the rest is what an unknown client sends
//           else steps until the end: a request to one of all routes, with a token, whose
//           parameters and body are those of the input or of things that there are
//
// Nothing takes the service down, every request is answered, and never with a 5xx.
#include <fmt/format.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/check.h"
#include "base/env_posix.h"
#include "base/log.h"
#include "doors/rest/families.h"
#include "doors/rest/server/exchange.h"
#include "model/jobs/submit.h"
#include "store/memory.h"
#include "tascaas/dispatcher.h"
#include "tascaas/files.h"
#include "tascaas/intake.h"
#include "tascaas/tenants.h"
#include "tests/fuzz/target.h"
#include "url/percent.h"

namespace dunlin {
namespace {

constexpr size_t kStepsMax = 20;
constexpr size_t kQueriesMax = 4;
constexpr size_t kUploadMax = 10'000;
constexpr size_t kStreamsMax = 2;
constexpr const char* kToken = "token";

// A service over a store with a job, and a tenant with an infrastructure, a file and a job.
class World {
 public:
  World()
      : stores_([this](const std::string&) { return open(); }, kToken, posix_clock()),
        families_(rest::all_families()),
        streams_(kStreamsMax),
        setting_{posix_clock(), memory_, false, "", kUploadMax, &families_, &streams_} {
    const WallTime now = posix_clock().wall();
    const auto store = open().value();
    model::Spec spec;
    spec.set_owner("ann");
    spec.mutable_command()->add_argv("true");
    spec.set_tasks(3);
    things_.push_back(submit(*store, spec, {.id = "job-1"}).value().id);
    things_.push_back(tascaas::add_tenant(*store, "physics", {}, now).value());
    const tascaas::Tenant tenant = tascaas::read_tenant(store->table(), "physics").value();
    CHECK(tascaas::put_text(*store, "physics", "input/a", "data", now).ok());
    CHECK(tascaas::put_text(*store, "physics", "input/j.config",
                            R"({"iterations":1000,"time":100,"inputFile":"a","initWorkers":2})",
                            now)
              .ok());
    things_.push_back(tascaas::take_in(*store, tenant, now).value().at(0).job);
    things_.push_back(tascaas::register_infrastructure(*store, tenant, 2, 4, now).value());
    for (const char* other : {"physics", "input/a", "0", "1", "-1", "9", "true", "1e9"}) {
      things_.emplace_back(other);
    }
  }

  // What the service says to somebody who sends that and no more.
  std::string answer(std::string_view bytes) {
    int both[2] = {};
    CHECK(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, both) == 0);
    CHECK(send(both[0], bytes.data(), bytes.size(), 0) == static_cast<ssize_t>(bytes.size()));
    shutdown(both[0], SHUT_WR);
    {
      rest::Connection connection(both[1], nullptr, posix_clock());
      rest::serve_connection(connection, setting_, {}, stores_, -1);
    }
    std::string heard;
    char some[4096];
    for (ssize_t size = 1; size > 0;) {
      size = read(both[0], some, sizeof(some));
      if (size > 0) heard.append(some, static_cast<size_t>(size));
    }
    close(both[0]);
    return heard;
  }

  const std::vector<rest::Family>& families() const { return families_; }
  std::string thing(Input& input) const {
    const size_t which = input.below(things_.size() + 1);
    return which < things_.size() ? things_[which] : std::string(input.sized());
  }

 private:
  Result<std::unique_ptr<RequestStore>> open() {
    std::unique_ptr<RequestStore> store = core_store(*core_, posix_clock(), ++opened_);
    return store;
  }

  std::unique_ptr<Core> core_ = memory_core();
  uint64_t opened_ = 0;
  rest::Stores stores_;
  std::vector<rest::Family> families_;
  rest::ServiceCache memory_;
  rest::StreamLimit streams_;
  const rest::Setting setting_;
  std::vector<std::string> things_;
};

bool is_fault(std::string_view reply) {
  constexpr std::string_view kBegin = "HTTP/1.1 5";
  return reply.find(kBegin) != std::string_view::npos;
}

std::string request_of(const World& world, Input& input) {
  const rest::Family& family = world.families()[input.below(world.families().size())];
  const rest::Route& route = family.routes[input.below(family.routes.size())];
  std::string target(family.prefix);
  for (std::string_view pattern = route.pattern; !pattern.empty();) {
    const size_t open = std::min(pattern.find('{'), pattern.size());
    target += pattern.substr(0, open);
    pattern.remove_prefix(open);
    if (pattern.empty()) break;
    pattern.remove_prefix(pattern.find('}') + 1);
    target += percent_encode(world.thing(input), input.below(2) == 0);
  }
  for (size_t count = input.below(kQueriesMax + 1), i = 0; i < count; ++i) {
    const size_t which = input.below(route.parameters.size() + 1);
    const std::string name = which < route.parameters.size()
                                 ? std::string(route.parameters[which].name)
                                 : world.thing(input);
    target += fmt::format("{}{}={}", i == 0 ? '?' : '&', percent_encode(name),
                          percent_encode(world.thing(input)));
  }
  const std::string_view body = input.sized();
  return fmt::format(
      "{} {} HTTP/1.1\r\nhost: h\r\nauthorization: Bearer {}\r\n"
      "content-type: {}\r\ncontent-length: {}\r\n\r\n{}",
      route.method, target, kToken, route.body_type, body.size(), body);
}

void check_requests(Input& input) {
  World world;
  for (size_t steps = 0; steps < kStepsMax && !input.empty(); ++steps) {
    const std::string request = request_of(world, input);
    const std::string reply = world.answer(request);
    CHECK(reply.starts_with("HTTP/1.1 "));
    CHECK(!is_fault(reply));
  }
  CHECK(world.answer("GET /node/register HTTP/1.1\r\nhost: h\r\n\r\n").starts_with("HTTP/1.1 400"));
}

void check_stranger(std::string_view bytes) {
  World world;
  const std::string reply = world.answer(bytes);
  CHECK(!is_fault(reply));
  CHECK(reply.empty() || reply.starts_with("HTTP/1.1 "));
}

}  // namespace

std::vector<std::string> seeds() {
  std::vector<std::string> all;
  const std::string_view bodies[] = {
      R"({"line":"echo {}","values":["a","b"],"name":"n","owner":"ann","key":"k","retries":2})",
      R"({"argv":["true"],"array":{"first":0,"last":9,"step":3},"timeout":"5s","cpus":2})",
      R"({"command":"x {}","json_lines":[{"argv":["a"],"cwd":"?/b"}],"requires":["t"],"csv":true,
          "header":true,"colsep":",","retry_on":"1,5-9","iterations":1e6,"finish_by":"25m"})",
      R"({"iterations":1000,"time":100,"inputFile":"a"})",
      "bytes",
  };
  const std::vector<rest::Family> families = rest::all_families();
  for (size_t family = 0; family < families.size(); ++family) {
    const auto& routes = families[family].routes;
    for (size_t route = 0; route < routes.size(); ++route) {
      Output out;
      out.byte(1);
      for (const std::string_view body : bodies) {
        out.number(family).number(route);
        for (const char c : routes[route].pattern) {
          if (c == '{') out.number(out.bytes().size() % 12).number(0);
        }
        out.number(2);
        for (size_t i = 0; i < 2; ++i) out.number(i).number(6 + i);
        out.sized(body);
      }
      all.push_back(out.bytes());
    }
  }
  for (const std::string_view text :
       {"GET /x/node/register?secret=a&slots=1&maxSlots=1 HTTP/1.1\r\nhost: h\r\n\r\n"
        "GET /lb/j/report?worker=0&nIter=5&dt=1 HTTP/1.1\r\nhost: h\r\n\r\n",
        "PUT /signed/physics/input/a?expires=9&signature=0 HTTP/1.1\r\nhost: h\r\n"
        "transfer-encoding: chunked\r\nexpect: 100-continue\r\n\r\n5\r\nhello\r\n0\r\n\r\n",
        "POST /api/v1/jobs HTTP/1.1\r\nhost: h\r\nauthorization: Bearer no\r\ncontent-length: "
        "2\r\n\r\n{}"}) {
    all.push_back(Output().byte(0).raw(text).bytes());
  }
  return all;
}

}  // namespace dunlin

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace dunlin;
  log::set_level(log::Level::error);
  Input input(data, size);
  if (input.byte() == 0) {
    check_stranger(input.rest());
  } else {
    check_requests(input);
  }
  return 0;
}
