// dunlin::Client and JobHandle: what a program of a user submits, and hears of it.
#include <dunlin/client.h>
#include <fmt/format.h>
#include <utility>

#include "base/env_posix.h"
#include "model/iterations/iterations.h"
#include "model/jobs/steer.h"
#include "model/keys.h"
#include "model/owned.h"
#include "model/rows.h"
#include "sdk/convert.h"
#include "sdk/job_spec.h"
#include "sdk/link.h"

namespace dunlin::sdk {
inline namespace v1 {

struct JobHandle::Impl {
  Impl(std::shared_ptr<Link> to, std::shared_ptr<Followed> what, bool was_there)
      : link(std::move(to)), job(std::move(what)), existed(was_there) {}
  ~Impl() { link->drop_handle(*job); }
  Impl(const Impl&) = delete;
  Impl& operator=(const Impl&) = delete;

  const std::shared_ptr<Link> link;
  const std::shared_ptr<Followed> job;
  const bool existed;
};

struct Client::Impl {
  std::shared_ptr<Link> link;
};

}  // namespace v1

namespace {

constexpr int kIdsMax = 5;  // That may belong to somebody else already.

Result<JobHandle> find_job(const std::shared_ptr<Link>& link, const std::string& id, bool existed) {
  const auto stored = TRY(link->call([&](Store& store) { return read_job(store.table(), id); }));
  auto job = link->follow(stored.record.id(), stored.record.spec().tasks(), false);
  return JobHandle(std::make_unique<JobHandle::Impl>(link, std::move(job), existed));
}

Result<JobHandle> submit_job(const std::shared_ptr<Link>& link, const JobOptions& options) {
  for (int tries = 1;; ++tries) {
    const WallTime now = posix_clock().wall();
    const std::string id = link->make_id();
    Submission made = TRY(submission_of(options, id, now));
    model::Spec& spec = made.spec;
    spec.set_owner(TRY(choose_owner(link->owner(), options.owner, spec.owner())));
    spec.set_reply(link->reply_queue());
    if (made.by_slots) {
      TRY(link->call([&](Store& store) { return fit_to_slots(store.table(), now, spec); }));
    }
    const std::string queue = queue_of(route_of(spec));
    SubmitOptions how{.id = id, .key = options.key, .blobs = std::move(made.blobs)};
    how.fresh = true;
    how.route_known = link->knows_route(queue);
    spec.set_created_us(to_us(now));
    auto job = link->follow(id, spec.tasks(), true);
    const auto submitted =
        link->call([&](Store& store) { return dunlin::submit(store, spec, how); });
    if (submitted.ok() && submitted.value().id == id) {
      if (!how.route_known) link->learn_route(queue);
      return JobHandle(std::make_unique<JobHandle::Impl>(link, std::move(job), false));
    }
    link->forget(*job);
    if (submitted.ok()) return find_job(link, submitted.value().id, true);
    const bool taken = submitted.error().code == dunlin::Code::conflict && options.key.empty();
    if (!taken || tries == kIdsMax) return submitted.error();
  }
}

Expected<TaskResult> read_one(Link& link, const Followed& job, uint64_t task) {
  auto read = link.call([&](Store& store) -> Result<TaskResult> {
    ResultReader reader(store.table(), job.id, task, task + 1);
    const std::optional<dunlin::TaskResult> found =
        task < job.tasks ? TRY(reader.next()) : std::nullopt;
    if (!found) {
      return dunlin::Error{dunlin::Code::not_found,
                           fmt::format("task {} of job {} has no outcome", task, job.id)};
    }
    TaskResult result = public_result(*found);
    for (const auto& [output, which, into] :
         {std::tuple(&found->outcome.out(), "out", &result.output),
          std::tuple(&found->outcome.err(), "err", &result.error_output)}) {
      if (output->where() != model::Output::ROW) continue;
      *into = TRY(whole_output(store, job.id, task, found->outcome, which));
    }
    return result;
  });
  return expected(std::move(read));
}

}  // namespace

inline namespace v1 {

JobHandle::JobHandle(std::unique_ptr<Impl> impl) noexcept : impl_(std::move(impl)) {}
JobHandle::JobHandle(JobHandle&&) noexcept = default;
JobHandle& JobHandle::operator=(JobHandle&&) noexcept = default;
JobHandle::~JobHandle() = default;

const std::string& JobHandle::id() const noexcept { return impl_->job->id; }
uint64_t JobHandle::tasks() const noexcept { return impl_->job->tasks; }
bool JobHandle::existed() const noexcept { return impl_->existed; }

Expected<std::optional<TaskResult>> JobHandle::next(std::chrono::milliseconds timeout) {
  return impl_->link->next(*impl_->job, timeout);
}

Expected<std::vector<TaskResult>> JobHandle::wait(std::chrono::milliseconds timeout) {
  return impl_->link->take_all(*impl_->job, timeout);
}

std::future<Expected<TaskResult>> JobHandle::result(uint64_t task) {
  Promise promise;
  if (task < impl_->job->tasks) {
    if (auto future = impl_->link->promise(*impl_->job, task)) return std::move(*future);
  }
  promise.set_value(read_one(*impl_->link, *impl_->job, task));
  return promise.get_future();
}

Expected<void> JobHandle::output(const TaskResult& result, Stream stream,
                                 const std::function<bool(std::string_view part)>& take) {
  const bool out = stream == Stream::output;
  const std::string& here = out ? result.output : result.error_output;
  const uint64_t size = out ? result.output_size : result.error_output_size;
  if (here.size() == size) {
    if (size > 0) take(here);
    return {};
  }
  const std::string& id = impl_->job->id;
  const std::string name = blob_name(id, result.task, result.attempt, out ? "out" : "err");
  constexpr size_t kPart = 1 << 20;
  for (uint64_t offset = 0; offset < size;) {
    const auto part =
        impl_->link->call([&](Store& store) { return store.blobs().get(name, offset, kPart); });
    if (!part.ok()) return public_error(part.error());
    if (part.value().empty()) {
      return Error{Code::not_found,
                   fmt::format("the output of task {} of job {} is no longer in the store",
                               result.task, id)};
    }
    if (!take(part.value())) return {};
    offset += part.value().size();
  }
  return {};
}

Expected<JobStatus> JobHandle::status() {
  const auto read = impl_->link->call(
      [&](Store& store) { return read_progress(store, impl_->job->id, posix_clock().wall()); });
  if (!read.ok()) return public_error(read.error());
  const Progress& progress = read.value();
  return JobStatus{.state = public_state(progress.standing.state),
                   .tasks = impl_->job->tasks,
                   .ok = progress.counts.ok,
                   .failed = progress.counts.failed,
                   .rate = progress.rate,
                   .why = progress.standing.end.why()};
}

Expected<void> JobHandle::cancel() {
  const auto cancelled = impl_->link->call(
      [&](Store& store) { return cancel_job(store, impl_->job->id, to_us(posix_clock().wall())); });
  if (!cancelled.ok()) return public_error(cancelled.error());
  impl_->link->look_soon();
  return {};
}

Client::Client(std::unique_ptr<Impl> impl) noexcept : impl_(std::move(impl)) {}
Client::Client(Client&&) noexcept = default;
Client& Client::operator=(Client&&) noexcept = default;
Client::~Client() = default;

Expected<Client> Client::connect(const std::string& url, const ConnectOptions& options) {
  auto link = Link::open(
      url, {.token = options.token, .token_file = options.token_file, .tls_ca = options.tls_ca});
  if (!link.ok()) return public_error(link.error());
  auto impl = std::make_unique<Impl>();
  impl->link = std::move(link).value();
  return Client(std::move(impl));
}

Expected<JobHandle> Client::submit(const JobOptions& job) {
  return expected(submit_job(impl_->link, job));
}

Expected<JobHandle> Client::find(const std::string& id) {
  return expected(find_job(impl_->link, id, true));
}

}  // namespace v1
}  // namespace dunlin::sdk
