// dunlin::Worker: a worker inside the program of a user, whose tasks are functions.
#include <atomic>
#include <dunlin/worker.h>
#include <fmt/format.h>
#include <optional>
#include <set>
#include <utility>

#include "base/env_posix.h"
#include "base/folders.h"
#include "base/names.h"
#include "base/waker.h"
#include "model/keys.h"
#include "sdk/convert.h"
#include "sdk/job_spec.h"
#include "stores/open.h"
#include "worker/agent.h"
#include "worker/defaults.h"

namespace dunlin::sdk {
inline namespace v1 {

struct Worker::Impl {
  worker::AgentOptions agent = {};
  std::unique_ptr<stores::AsyncStore> async_store = {};  // Until it runs.
  std::string id = {};
  bool own_folder = false;
  std::optional<dunlin::Error> refusal = {};  // Of a function.

  // Set by drain() and stop(), which may be called in a signal handler.
  std::atomic<bool> draining = false;
  std::atomic<bool> stopping = false;
  Waker waker = {};
};

}  // namespace v1

namespace {

static_assert(std::atomic<bool>::is_always_lock_free);

Result<void> prepare(const std::string& url, const ConnectOptions& connection,
                     const WorkerOptions& given, Worker::Impl& impl) {
  TRY(worker::check_user(given.allow_root));
  dunlin::worker::WorkerOptions options;
  options.id = given.name;
  options.slots = given.slots;
  options.tags.insert(given.tags.begin(), given.tags.end());
  options.mem_bytes = given.mem_bytes;
  options.gpus = given.gpus;
  options.hold = given.hold;
  options.idle_exit = given.idle_exit;
  options = TRY(worker::with_defaults(std::move(options)));
  impl.own_folder = given.folder.empty();
  impl.agent.slots.folder =
      impl.own_folder ? TRY(state_folder("workers/" + options.id)) : given.folder;
  impl.agent.slots.slots = options.slots;
  impl.agent.slots.worker_id = options.id;
  impl.agent.slots.rules.foreign = true;
  impl.id = options.id;
  impl.agent.worker = std::move(options);
  stores::StoreAccess access = TRY(stores::open_access(url, {.token = connection.token,
                                                             .token_file = connection.token_file,
                                                             .tls_ca = connection.tls_ca,
                                                             .make = false}));
  impl.agent.connect = std::move(access.connect);
  impl.agent.worker.commit_rows = access.commit_rows;
  impl.agent.worker.pace = access.pace;
  impl.async_store = std::move(access.async_store);
  return {};
}

Result<void> serve(Worker::Impl& impl) {
  if (impl.refusal) return *impl.refusal;
  if (impl.async_store == nullptr) {
    return dunlin::Error{dunlin::Code::invalid, "this worker has run already: make a new one"};
  }
  const std::string folder = impl.agent.slots.folder;
  auto agent = TRY(worker::Agent::start(std::move(impl.agent), std::move(impl.async_store)));
  bool drained = false;
  bool stopped = false;
  while (!agent->mind().gone() && !agent->mind().failure()) {
    if (impl.stopping && !std::exchange(stopped, true)) agent->stop();
    if (impl.draining && !stopped && !std::exchange(drained, true)) agent->drain();
    agent->turn(posix_clock().now() + std::chrono::hours(1), impl.waker.descriptor());
    impl.waker.calm();
  }
  const std::optional<dunlin::Error> failure = agent->mind().failure();
  agent.reset();
  if (impl.own_folder) worker::remove_slots_folder(folder);
  if (failure) return *failure;
  return {};
}

}  // namespace

inline namespace v1 {

Worker::Worker(std::unique_ptr<Impl> impl) noexcept : impl_(std::move(impl)) {}
Worker::Worker(Worker&&) noexcept = default;
Worker& Worker::operator=(Worker&&) noexcept = default;
Worker::~Worker() = default;

Expected<Worker> Worker::connect(const std::string& url, const ConnectOptions& connection,
                                 const WorkerOptions& options) {
  auto impl = std::make_unique<Impl>();
  if (const auto prepared = prepare(url, connection, options, *impl); !prepared.ok()) {
    return public_error(prepared.error());
  }
  return Worker(std::move(impl));
}

const std::string& Worker::id() const noexcept { return impl_->id; }

void Worker::add(const std::string& name, TaskFunction function) {
  auto tag = function_tag(name);
  if (!tag.ok() || function == nullptr) {
    impl_->refusal = tag.ok() ? dunlin::Error{dunlin::Code::invalid,
                                              fmt::format("the function {} is empty", name)}
                              : tag.error();
    return;
  }
  impl_->agent.worker.tags.insert(std::move(tag).value());
  impl_->agent.worker.functions.push_back(name);
  impl_->agent.slots.functions[name] =
      [function = std::move(function)](std::string_view argument) -> Result<std::string> {
    std::string returned = function(argument);
    if (returned.size() <= kOutputRowMax) return returned;
    return dunlin::Error{dunlin::Code::invalid,
                         fmt::format("the function returned {} bytes, more than the limit of {}: "
                                     "put them into a file or a blob and return its name",
                                     returned.size(), kOutputRowMax)};
  };
}

Expected<void> Worker::run() { return expected(serve(*impl_)); }

void Worker::drain() noexcept {
  impl_->draining = true;
  impl_->waker.wake();
}

void Worker::stop() noexcept {
  impl_->stopping = true;
  impl_->waker.wake();
}

}  // namespace v1
}  // namespace dunlin::sdk
