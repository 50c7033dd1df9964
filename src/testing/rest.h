// The REST service for tests: on a free port of 127.0.0.1, over a hub of its own, with a clock that
// can be moved. The service and its hub have threads of their own; the test uses this from one.
#pragma once

#include <atomic>
#include <memory>
#include <string>
#include <string_view>

#include "base/check.h"
#include "base/env_posix.h"
#include "doors/rest/families.h"
#include "doors/rest/server/service.h"
#include "stores/open.h"
#include "testing/http_client.h"
#include "testing/hub.h"

namespace dunlin {

// For people the time stands still until it is moved, from any thread.
class MovedClock final : public Clock {
 public:
  Instant now() const override { return posix_clock().now() + Millis(passed_.load()); }
  WallTime wall() const override { return began_ + Millis(moved_.load()); }
  void move(Millis time) { moved_ += time.count(); }
  void pass(Millis time) {  // Also for the service itself.
    move(time);
    passed_ += time.count();
  }

 private:
  const WallTime began_ = posix_clock().wall();
  std::atomic<int64_t> moved_ = 0;
  std::atomic<int64_t> passed_ = 0;
};

class TestRest {
 public:
  // Beside the hub of another one if it is given.
  explicit TestRest(rest::ServiceOptions options = {}, TestRest* beside = nullptr,
                    std::vector<rest::Family> families = rest::all_families())
      : own_hub_(beside ? nullptr : std::make_unique<TestHub>()),
        hub_(beside ? beside->hub_ : own_hub_.get()),
        clock_(beside ? beside->clock_ : &own_clock_),
        families_(std::move(families)),
        stores_([this](const std::string& token) { return open(token); }, std::nullopt, *clock_),
        service_(*clock_, stores_, families_, std::move(options)) {
    stores_.set_own(std::string(TestHub::kToken));
    address_ = service_.listen(net::resolve("127.0.0.1:0").value().front()).value();
    service_.start();
  }

  uint16_t port() const { return address_.port(); }
  rest::Service& service() { return service_; }
  MovedClock& clock() { return *clock_; }

  Result<std::unique_ptr<RequestStore>> open(const std::string& token) const {
    return stores::open_store("dunlin://" + hub_->address().text(), {.token = token});
  }
  std::unique_ptr<RequestStore> store() const { return open(std::string(TestHub::kToken)).value(); }

  // Over a connection of its own.
  HttpAnswer get(std::string_view target, std::string_view headers = "") const {
    return HttpClient(port()).get(target, headers);
  }

 private:
  MovedClock own_clock_;
  std::unique_ptr<TestHub> own_hub_;
  TestHub* hub_;
  MovedClock* clock_;
  std::vector<rest::Family> families_;
  rest::Stores stores_;
  rest::Service service_;
  net::Address address_;
};

}  // namespace dunlin
