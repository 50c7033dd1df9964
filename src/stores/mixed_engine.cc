#include "stores/mixed_engine.h"

#include <array>
#include <fmt/format.h>
#include <map>
#include <utility>

#include "base/env_posix.h"
#include "base/log.h"
#include "base/printable.h"
#include "stores/amqp/amqp_hints.h"
#include "stores/aws/dynamo_table.h"
#include "stores/aws/manage.h"
#include "stores/aws/s3_blobs.h"
#include "stores/aws/sqs_hints.h"
#include "stores/engines.h"
#include "stores/mixed/mixed_store.h"

namespace dunlin::stores {
namespace {

// The engines of a mixed store. Without blobs= they are where the table is.
struct MixedUrl {
  std::string queue;  // amqp://, amqps:// or aws:
  std::string table;  // Of an engine that lends it.
  std::string blobs;  // As the table, or s3://.
};

// What makes stores on these engines. They share what one process knows. Nothing is asked yet.
struct MixedEngines {
  Connect connect;
  size_t commit_rows = kBatchMax;  // See StoreAccess.
  Millis pace = StoreAccess().pace;
};

constexpr std::string_view kAws = "aws:";
constexpr Millis kCloudWait = std::chrono::seconds(10);  // For who may not be there at all.
// For a service of hints, without which the rows are looked through.
constexpr Millis kHintsWait = std::chrono::seconds(3);
constexpr std::array<std::string_view, 3> kParts = {"queue=", "table=", "blobs="};

bool is_aws(std::string_view url) { return url.starts_with(kAws); }
bool in_cloud(std::string_view url) { return is_aws(url) || cloud::is_bucket_url(url); }
bool is_amqp(std::string_view url) {
  return url.starts_with("amqp://") || url.starts_with("amqps://");
}
bool holds_rows(std::string_view url) {
  const Engine* const engine = engine_of(url);
  return engine != nullptr && engine->lends_table;
}

Error bad_mix(std::string_view why) {
  return {Code::invalid, fmt::format("the store URL {}: write it as "
                                     "queue=amqp://HOST,table=postgres://USER@HOST/DATABASE and "
                                     "perhaps ,blobs=s3://BUCKET/PREFIX",
                                     why)};
}

std::string* part_of(MixedUrl& url, std::string_view name) {
  return name == kParts[0] ? &url.queue : name == kParts[1] ? &url.table : &url.blobs;
}

// Where the next part begins, at a comma; the URLs themselves may have commas.
size_t next_part(std::string_view text) {
  size_t next = text.size();
  for (const std::string_view name : kParts) {
    next = std::min(next, text.find("," + std::string(name)));
  }
  return next;
}

std::string region() {
  for (const char* name : {"AWS_REGION", "AWS_DEFAULT_REGION"}) {
    const auto value = cloud::environment_variable(name);
    if (value && !value->empty()) return *value;
  }
  return "us-east-1";
}

struct Cloud {
  cloud::CloudAddress address;
  cloud::CloudOptions options;
};

Result<Cloud> cloud_of(const std::string& url, const OpenOptions& options) {
  Cloud found;
  const std::string endpoint =
      !options.aws_endpoint.empty()
          ? options.aws_endpoint
          : cloud::environment_variable("DUNLIN_AWS_ENDPOINT").value_or("");
  found.address = TRY(cloud::parse_cloud_address(url, endpoint, region()));
  found.address.ca_file = options.tls_ca;
  found.options.deadline = options.deadline;
  return found;
}

Result<mixed::ConnectHints> hints_of(const std::string& url, const OpenOptions& options) {
  if (is_aws(url)) {
    Cloud there = TRY(cloud_of(url, options));
    there.options.deadline = there.options.connect_wait = kHintsWait;
    return mixed::ConnectHints([there]() -> Result<std::unique_ptr<mixed::Hints>> {
      return std::unique_ptr<mixed::Hints>(std::make_unique<cloud::SqsHints>(
          there.address, there.options, posix_clock(), posix_disk()));
    });
  }
  const amqp::AmqpAddress address = TRY(amqp::parse_amqp_url(url));
  return mixed::ConnectHints([address]() -> Result<std::unique_ptr<mixed::Hints>> {
    return amqp::amqp_hints(address, posix_clock());
  });
}

Result<std::unique_ptr<RequestStore>> open_table(const std::string& url,
                                                 const OpenOptions& options) {
  if (!is_aws(url)) return open_store(url, options);
  Cloud there = TRY(cloud_of(url, options));
  there.options.connect_wait = kCloudWait;
  auto table = std::make_unique<cloud::DynamoTable>(there.address, there.options, posix_clock(),
                                                    posix_disk());
  const Result<bool> prepared = table->prepare(options.make);
  if (prepared.ok()) {
    if (prepared.value()) TRY(table->check_transactions());
    return std::unique_ptr<RequestStore>(std::move(table));
  }
  if (prepared.error().code != Code::not_found) return prepared.error();
  return Error{Code::not_found, fmt::format("there is no store at {}: {}; the first job makes one, "
                                            "or dunlin store init",
                                            printable_url(url), prepared.error().what)};
}

Result<void> open_blobs(const MixedUrl& url, const OpenOptions& options, mixed::MixedParts& parts) {
  if (in_cloud(url.blobs)) {
    const Cloud there = TRY(cloud_of(url.blobs, options));
    parts.blobs =
        std::make_unique<cloud::S3Blobs>(there.address, there.options, posix_clock(), posix_disk());
  } else if (url.blobs != url.table) {
    parts.blob_store = TRY(open_store(url.blobs, options));
  }
  return {};
}

Result<void> check_queue(const std::string& url) {
  if (!is_amqp(url)) return {};
  const amqp::AmqpAddress address = TRY(amqp::parse_amqp_url(url));
  const Result<void> there = amqp::check_amqp(address, posix_clock());
  if (there.ok()) return {};
  return Error{there.error().code, "RabbitMQ, queue= in the store URL: " + there.error().what};
}

// A bucket of the user's is not made by us, and better missed before there is something to put.
Result<void> check_blobs(const std::string& url, const OpenOptions& options) {
  if (!cloud::is_bucket_url(url)) return {};
  const Cloud there = TRY(cloud_of(url, options));
  cloud::S3Blobs blobs(there.address, there.options, posix_clock(), posix_disk());
  return blobs.check();
}

// What the store uses in AWS, by URL.
std::map<std::string, cloud::CloudParts> cloud_parts(const MixedUrl& url) {
  std::map<std::string, cloud::CloudParts> parts;
  if (in_cloud(url.queue)) parts[url.queue].queues = true;
  if (in_cloud(url.table)) parts[url.table].table = true;
  if (in_cloud(url.blobs)) parts[url.blobs].blobs = true;
  return parts;
}

// Endpoints that are named one by one are those of all services that the store uses: whoever
// tries it here does not want the others to be AWS's own.
Result<void> check_endpoints(const MixedUrl& url, const OpenOptions& options) {
  for (const auto& [part, services] : cloud_parts(url)) {
    const cloud::CloudAddress address = TRY(cloud_of(part, options)).address;
    if (address.sqs.empty() && address.dynamodb.empty() && address.s3.empty()) continue;
    const std::string_view missing = services.queues && address.sqs.empty()       ? "sqs"
                                     : services.table && address.dynamodb.empty() ? "dynamodb"
                                     : services.blobs && address.s3.empty()       ? "s3"
                                                                                  : "";
    if (missing.empty()) continue;
    return Error{Code::invalid,
                 fmt::format("--aws-endpoint (DUNLIN_AWS_ENDPOINT) names others than {}=, which "
                             "this store uses too: add {}=URL, or give one URL for all",
                             missing, missing)};
  }
  return {};
}

Result<MixedUrl> parse_mixed_url(const std::string& url) {
  if (is_aws(url)) return MixedUrl{url, url, url};
  if (is_amqp(url)) return bad_mix("is only a queue");
  MixedUrl found;
  for (std::string_view text = url; !text.empty();) {
    const size_t end = next_part(text);
    const std::string_view part = text.substr(0, end);
    const std::string_view name = part.substr(0, part.find('=') + 1);
    if (std::ranges::find(kParts, name) == kParts.end()) {
      return bad_mix(fmt::format("has the unknown part {}", quote_url(part)));
    }
    std::string& into = *part_of(found, name);
    if (!into.empty()) return bad_mix(fmt::format("names {} twice", name));
    into = part.substr(name.size());
    if (into.empty()) return bad_mix(fmt::format("has nothing after {}", name));
    text = end == text.size() ? std::string_view() : text.substr(end + 1);
  }
  if (found.queue.empty()) return bad_mix("has no queue=");
  if (found.table.empty()) return bad_mix("has no table=");
  if (found.blobs.empty()) found.blobs = found.table;
  if (!is_amqp(found.queue) && !is_aws(found.queue)) {
    return bad_mix("has a queue= that is neither amqp://, amqps:// nor aws:");
  }
  const std::string lenders = forms_of([](const Engine& engine) { return engine.lends_table; });
  if (!holds_rows(found.table)) {
    return bad_mix(fmt::format("has a table= that is not {}", lenders));
  }
  if (!holds_rows(found.blobs) && !in_cloud(found.blobs)) {
    return bad_mix(fmt::format("has a blobs= that is not s3://BUCKET/PREFIX, {}", lenders));
  }
  return found;
}

Result<MixedUrl> parse_usable(const std::string& url, const OpenOptions& options) {
  const MixedUrl parts = TRY(parse_mixed_url(url));
  TRY(check_endpoints(parts, options));
  return parts;
}

Result<MixedEngines> mixed_engines(const std::string& url, const OpenOptions& options) {
  const MixedUrl parts = TRY(parse_usable(url, options));
  const mixed::ConnectHints hints = TRY(hints_of(parts.queue, options));
  const auto shared = std::make_shared<mixed::MixedShared>(hints);
  MixedEngines engines;
  size_t bytes = kBatchBytesMax;
  if (is_aws(parts.table)) {
    engines.commit_rows = cloud::kCloudWritesMax;
    engines.pace = cloud::kCloudPace;
    bytes = cloud::kCloudBytesMax;
  }
  engines.connect = [=, rows = engines.commit_rows]() -> Result<std::unique_ptr<RequestStore>> {
    auto table = TRY(open_table(parts.table, options));
    auto hinted = TRY(hints());
    mixed::MixedParts made{.table = std::move(table),
                           .hints = std::move(hinted),
                           .shared = shared,
                           .writes_max = rows,
                           .bytes_max = bytes};
    TRY(open_blobs(parts, options, made));
    return std::unique_ptr<RequestStore>(
        std::make_unique<mixed::MixedStore>(std::move(made), posix_clock(), random_seed()));
  };
  return engines;
}

}  // namespace

Result<std::unique_ptr<RequestStore>> open_mixed_engine(const std::string& url,
                                                        const OpenOptions& options) {
  return TRY(mixed_engines(url, options)).connect();
}

Result<StoreAccess> access_mixed_engine(const std::string& url, const OpenOptions& options) {
  const MixedUrl parts = TRY(parse_usable(url, options));
  const MixedEngines engines = TRY(mixed_engines(url, options));
  TRY(engines.connect());  // The table is there.
  TRY(check_blobs(parts.blobs, options));
  const Result<void> queue = check_queue(parts.queue);
  // One that is away may come back, and work goes on without it.
  if (!queue.ok() && queue.error().code != Code::unavailable) return queue.error();
  if (!queue.ok()) log::warning("work is found more slowly: {}", queue.error().what);
  StoreAccess access;
  access.async_store = async_lane_store(engines.connect);
  access.connect = engines.connect;
  access.commit_rows = engines.commit_rows;
  access.pace = engines.pace;
  return access;
}

Result<bool> init_mixed_engine(const std::string& url, const OpenOptions& options) {
  const MixedUrl parts = TRY(parse_usable(url, options));
  TRY(check_queue(parts.queue));
  TRY(check_blobs(parts.blobs, options));
  if (!is_aws(parts.table)) return init_store(parts.table, options);
  const Cloud there = TRY(cloud_of(parts.table, options));
  cloud::DynamoTable table(there.address, there.options, posix_clock(), posix_disk());
  const bool made = TRY(table.prepare());
  TRY(table.check_transactions());
  return made;
}

Result<std::vector<Made>> list_mixed_engine(const std::string& url, const OpenOptions& options) {
  std::vector<Made> all;
  for (const auto& [part, services] : cloud_parts(TRY(parse_usable(url, options)))) {
    const Cloud there = TRY(cloud_of(part, options));
    for (cloud::CloudThing& thing : TRY(cloud::list_cloud(there.address, services, there.options,
                                                          posix_clock(), posix_disk()))) {
      all.push_back({std::string(cloud::service_name(thing.service)), std::move(thing.name)});
    }
  }
  return all;
}

Result<void> destroy_mixed_engine(const std::string& url, const OpenOptions& options) {
  const MixedUrl parts = TRY(parse_usable(url, options));
  for (const std::string& part : {parts.table, parts.blobs}) {
    if (is_hub_url(part)) return destroy_store(part, options);  // Which says why not.
  }
  if (!in_cloud(parts.table)) TRY(destroy_store(parts.table, options));
  if (!in_cloud(parts.blobs) && parts.blobs != parts.table) {
    TRY(destroy_store(parts.blobs, options));
  }
  for (const auto& [part, services] : cloud_parts(parts)) {
    const Cloud there = TRY(cloud_of(part, options));
    TRY(cloud::destroy_cloud(there.address, services, there.options, posix_clock(), posix_disk()));
  }
  return {};
}

}  // namespace dunlin::stores
