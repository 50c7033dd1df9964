// Rows: whose job it is, which workers may run it and when, and iterations.
#include <algorithm>
#include <ctime>
#include <fmt/chrono.h>
#include <fmt/format.h>

#include "base/names.h"
#include "model/counts.h"
#include "model/iterations/ledgers.h"
#include "model/jobs/submit.h"
#include "spec/access.h"

namespace dunlin::spec {
namespace {

using model::Requirements;

constexpr size_t kTagsMax = 1000;
constexpr size_t kNameBytes = 64;

Result<std::string> name_of(const Json& value) {
  std::string name = TRY(text_of(value, kNameBytes));
  return is_name(name) ? Result<std::string>(std::move(name)) : unexpected();
}

Result<void> set_name(const Json& value, JobDraft& draft) {
  draft.spec.set_name(TRY(name_of(value)));
  return {};
}
Json get_name(const model::Job& job) { return unless_empty(job.spec().name()); }

Result<void> set_owner(const Json& value, JobDraft& draft) {
  draft.spec.set_owner(TRY(name_of(value)));
  return {};
}
Json get_owner(const model::Job& job) { return unless_empty(job.spec().owner()); }

Result<void> set_key(const Json& value, JobDraft& draft) {
  draft.key = TRY(name_of(value));
  return {};
}
// Its row is OWNER/KEY if it was submitted with a token of an owner.
Json get_key(const model::Job& job) {
  const std::string& row = job.key();
  return unless_empty(row.substr(row.find('/') + 1));
}

Result<void> set_priority(const Json& value, JobDraft& draft) {
  draft.spec.set_priority(TRY(small_number_of(value, 0, kPriorityMax)));
  return {};
}
Json get_priority(const model::Job& job) { return job.spec().priority(); }

Result<void> set_after(const Json& value, JobDraft& draft) {
  draft.after = TRY(words_of(value, kAfterMax));
  // Elsewhere they are names of jobs, too, and whoever looks them up says what is wrong.
  if (draft.entrance != Entrance::rest && draft.entrance != Entrance::sdk) return {};
  for (const std::string& job : draft.after) {
    if (!is_name(job)) return unexpected();
  }
  return {};
}
Json get_after(const model::Job& job) {
  const auto& after = job.spec().after();
  return unless_empty(std::vector<std::string>(after.begin(), after.end()));
}

Result<void> set_requires(const Json& value, JobDraft& draft) {
  std::vector<std::string> tags = TRY(words_of(value, kTagsMax));
  std::ranges::sort(tags);
  tags.erase(std::unique(tags.begin(), tags.end()), tags.end());
  for (const std::string& tag : tags) {
    if (!is_tag(tag)) {
      return Error{Code::invalid, fmt::format("the tag {} is not 1 to 64 letters, digits and "
                                              "._-=:+@/",
                                              quote(tag))};
    }
    draft.spec.mutable_requires_()->add_tags(tag);
  }
  return {};
}
Json get_requires(const model::Job& job) {
  const auto& tags = job.spec().requires_().tags();
  return unless_empty(std::vector<std::string>(tags.begin(), tags.end()));
}

Result<void> set_mem(const Json& value, JobDraft& draft) {
  draft.spec.mutable_requires_()->set_mem_bytes(TRY(size_of(value)));
  return {};
}
Json get_mem(const model::Job& job) { return unless_empty(job.spec().requires_().mem_bytes()); }

Result<void> set_keep(const Json& value, JobDraft& draft) {
  const std::string text = TRY(text_of(value));
  draft.spec.set_keep_ms(TRY(parse_keep(text)));
  return {};
}
Json get_keep(const model::Job& job) {
  const uint64_t keep = job.spec().keep_ms();
  if (keep == 0) return {};
  return keep == kKeepForever ? "forever" : duration_text(keep);
}

Result<void> set_iterations(const Json& value, JobDraft& draft) {
  if (!value.is_number_float()) {
    draft.iterations.iterations = TRY(number_of(value, 1, kNumberMax));
    return {};
  }
  const auto number = value.get<double>();
  if (!(number >= 1)) return unexpected();
  const Result<uint64_t> whole = whole_iterations(number);
  if (!whole.ok() || whole.value() > kNumberMax) return unexpected();
  draft.iterations.iterations = whole.value();
  return {};
}
Json get_iterations(const model::Job& job) { return unless_empty(job.spec().iterations().total()); }

Result<void> set_partitions(const Json& value, JobDraft& draft) {
  draft.iterations.partitions = TRY(small_number_of(value, 1, kPartitionsMax));
  return {};
}
Json get_partitions(const model::Job& job) {
  return unless_empty(job.spec().iterations().partitions());
}

Result<void> set_partitions_max(const Json& value, JobDraft& draft) {
  draft.iterations.partitions_max = TRY(small_number_of(value, 1, kPartitionsMax));
  return {};
}
Json get_partitions_max(const model::Job& job) {
  return job.spec().has_iterations() ? Json(job.spec().tasks()) : Json();
}

Result<void> set_span(const Json& value, JobDraft& draft) {
  draft.iterations.span = Millis(TRY(milliseconds_of(value)));
  return {};
}
Json get_span(const model::Job& job) {
  const uint64_t span = job.spec().iterations().span_ms();
  return span == 0 ? Json() : Json(duration_text(span));
}

Result<void> set_finish_by(const Json& value, JobDraft& draft) {
  const std::string text = TRY(text_of(value));
  draft.spec.set_finish_by_ms(TRY(parse_deadline(text, draft.now)).time_since_epoch().count());
  return {};
}
// In local time, as people write it, and not before its end.
Json get_finish_by(const model::Job& job) {
  const int64_t by_ms = job.spec().finish_by_ms();
  if (by_ms == 0) return {};
  const std::time_t seconds = (by_ms + 999) / 1000;
  std::tm local = {};
  if (localtime_r(&seconds, &local) == nullptr) return {};
  return local.tm_sec == 0 ? fmt::format("{:%Y-%m-%d %H:%M}", local)
                           : fmt::format("{:%Y-%m-%d %H:%M:%S}", local);
}

constexpr std::string_view kNameSchema =
    R"({"type":"string","pattern":"^[A-Za-z0-9._-]{1,64}$","examples":["sweep-7"]})";
constexpr std::string_view kName =
    "a text of 1 to 64 letters, digits, dots, dashes and underscores";

constexpr JobField kRows[] = {
    {.name = "name",
     .word = "NAME",
     .help = "Name by which people find the job; need not be unique",
     .expected = kName,
     .schema = kNameSchema,
     .access = {set_name, get_name}},
    {.name = "owner",
     .word = "NAME",
     .help = "User or group that the job belongs to (default: $USER, or api over REST)",
     .expected = kName,
     .schema = kNameSchema,
     .access = {set_owner, get_owner}},
    {.name = "key",
     .word = "KEY",
     .help = "Idempotency key: submitting again with the same key returns the existing job",
     .expected = kName,
     .schema = kNameSchema,
     .access = {set_key, get_key}},
    {.name = "priority",
     .shape = Shape::number,
     .word = "N",
     .help = "Jobs with a larger number, 0 to 9, start first (default: 5)",
     .expected = "a number of 0 to 9",
     .schema = R"({"type":"integer","minimum":0,"maximum":9})",
     .access = {set_priority, get_priority}},
    {.name = "after",
     .shape = Shape::list,
     .word = "JOB",
     .help = "Start after these jobs have ended without failures",
     .typed = "may be repeated",
     .expected = "a list of jobs: their ids or, in a job file, names of jobs above",
     .schema = R"({"type":"array","items":{"type":"string","pattern":"^[A-Za-z0-9._-]{1,64}$"},
                   "maxItems":1000,"examples":[[]]})",
     .access = {set_after, get_after}},
    {.name = "keep",
     .word = "DURATION",
     .help = "Keep the job this long after its end: 12h, 30d, forever (default: the store's rule)",
     .expected = "a duration like \"30d\", or \"forever\"",
     .schema = R"({"type":"string","pattern":"^([0-9]+(ms|s|m|h|d)|forever)$","examples":["30d"]})",
     .access = {set_keep, get_keep}},
    {.name = "requires",
     .shape = Shape::list,
     .word = "TAG",
     .help = "Run only on workers that have all of these tags",
     .typed = "may be repeated",
     .expected = "a list of tags like [\"gpu\"], each of 1 to 64 letters, digits and ._-=:+@/",
     .schema = R"({"type":"array","items":{"type":"string",
                   "pattern":"^[A-Za-z0-9._=:+@/-]{1,64}$","examples":["gpu"]},"maxItems":1000})",
     .access = {set_requires, get_requires}},
    {.name = "cpus",
     .shape = Shape::number,
     .word = "N",
     .help = "Number of slots that each task occupies (default: 1)",
     .expected = "a number of 1 to 1000000",
     .schema = R"({"type":"integer","minimum":1,"maximum":1000000})",
     .access = kNeedAccess<&Requirements::set_cpus, &Requirements::cpus, 1, kCountMax>},
    {.name = "mem",
     .word = "SIZE",
     .help = "Memory that each task needs (512M, 4G)",
     .expected = "a size like \"4G\", or a number of bytes",
     .schema = kSizeSchema,
     .access = {set_mem, get_mem}},
    {.name = "gpus",
     .shape = Shape::number,
     .word = "N",
     .help = "Number of GPUs that each task needs",
     .expected = "a number of 0 to 1000000",
     .schema = R"({"type":"integer","minimum":0,"maximum":1000000})",
     .access = kNeedAccess<&Requirements::set_gpus, &Requirements::gpus, 0, kCountMax>},
    {.name = "iterations",
     .shape = Shape::number,
     .word = "N",
     .help = "Number of iterations (1000000, 1e6) that partitions share, asking for them on "
             "descriptor 3",
     .expected = "a number of 1 on, like 1000000 or 1e6, at most 9007199254740991",
     .schema = R"({"type":"integer","minimum":1,"maximum":9007199254740991,"examples":[1000000]})",
     .access = {set_iterations, get_iterations}},
    {.name = "partitions",
     .shape = Shape::number,
     .word = "N",
     .help = "Number of partitions that start at once (default: 1 with a deadline, otherwise one "
             "for each slot of the workers that can run them)",
     .expected = "a number of 1 to 1000",
     .schema = R"({"type":"integer","minimum":1,"maximum":1000,"examples":[1,2]})",
     .access = {set_partitions, get_partitions}},
    {.name = "partitions_max",
     .shape = Shape::number,
     .word = "N",
     .help = "Maximum number of partitions if the deadline requires more (default: 100)",
     .expected = "a number of 1 to 1000",
     .schema = R"({"type":"integer","minimum":1,"maximum":1000,"examples":[4,1000]})",
     .access = {set_partitions_max, get_partitions_max}},
    {.name = "span",
     .word = "DURATION",
     .help = "How much work, in time, a partition is given at once (default: 1s)",
     .expected = "a duration like \"1s\"",
     .schema = kDurationSchema,
     .access = {set_span, get_span}},
    {.name = "finish_by",
     .word = "TIME",
     .help = "Deadline of the whole job: 25m, 17:00, \"2030-01-31 17:00\"",
     .expected = "a time like \"25m\", \"17:00\" or \"2030-01-31 17:00\"",
     .schema = R"({"type":"string","maxLength":20,
           "pattern":"^([0-9]+(ms|s|m|h|d)|([0-9]{4}-[0-9]{2}-[0-9]{2}[ T])?[0-9]{2}:[0-9]{2})$",
           "examples":["25m","17:00","2099-12-31 17:00"]})",
     .access = {set_finish_by, get_finish_by}},
};

}  // namespace

std::span<const JobField> queue_fields() { return kRows; }

}  // namespace dunlin::spec
