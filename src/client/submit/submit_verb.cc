#include "client/submit/submit_verb.h"

#include <algorithm>
#include <csignal>
#include <cstring>
#include <fmt/format.h>
#include <nlohmann/json.hpp>
#include <unistd.h>

#include "base/env_posix.h"
#include "base/exit.h"
#include "base/text.h"
#include "base/who.h"
#include "client/jobs/find_job.h"
#include "client/jobs/result_lines.h"
#include "client/submit/job_file.h"
#include "model/iterations/iterations.h"
#include "model/jobs/submit.h"
#include "model/owned.h"
#include "model/rows.h"
#include "model/tasks/expand.h"
#include "model/views/explain.h"
#include "model/views/json.h"
#include "sources/input.h"
#include "spec/draft.h"

namespace dunlin::client {
namespace {

constexpr uint64_t kShownTasks = 10;  // Of a dry run.
// A job that is ready to be submitted.
struct Draft {
  std::string id;
  std::string key;
  model::Spec spec;
  std::vector<sources::Gathered::Blob> blobs;
  sources::Readable stdin_file;    // If it goes into a blob.
  std::vector<size_t> after = {};  // Drafts before this one.
  bool by_slots = false;           // As many partitions as there are slots.
  bool names_owner = false;        // Its file does.
};

Result<std::string> read_part(const File& file, uint64_t offset, size_t max) {
  std::string bytes(max, '\0');
  bytes.resize(TRY(file.read(offset, bytes)));
  return bytes;
}

Result<void> add_stdin(const SubmitVerb& verb, Draft& draft) {
  const std::string file = spec::word_in(verb.said, "stdin");
  if (file.empty()) return {};
  if (file == "-" &&
      (spec::word_in(verb.said, "lines") == "-" || spec::word_in(verb.said, "json_lines") == "-")) {
    return Error{Code::invalid, "standard input cannot be both the lines and --stdin: use a file"};
  }
  sources::Readable input = TRY(sources::open_input(file, kBlobMax));
  if (input.size <= spec::kStdinInlineMax) {
    draft.spec.set_stdin(TRY(read_part(*input.file, 0, spec::kStdinInlineMax)));
    return {};
  }
  draft.spec.set_stdin_blob(input_blob_name(draft.id, "stdin"));
  draft.stdin_file = std::move(input);
  return {};
}

// What the options make, before the inputs are read.
Result<spec::JobDraft> draft_of_options(const SubmitVerb& verb, WallTime now) {
  spec::JobDraft draft = spec::draft_from(spec::Entrance::command_line, now);
  draft.options.words = verb.words;
  draft.here = ".";
  draft.spec.set_owner(user_name());
  TRY(spec::set_words(verb.said, draft));
  return draft;
}

Result<Draft> draft_of_words(const SubmitVerb& verb, const std::string& id, WallTime now) {
  spec::JobDraft options = TRY(draft_of_options(verb, now));
  spec::ReadyJob job = TRY(spec::finish_job(std::move(options), input_blob_name(id, "")));
  Draft draft{.id = id,
              .key = std::move(job.key),
              .spec = std::move(job.spec),
              .blobs = std::move(job.blobs),
              .stdin_file = {},
              .by_slots = job.by_slots};
  draft.spec.set_created_us(to_us(now));
  TRY(add_stdin(verb, draft));
  TRY(spec::check_job(draft.spec, spec::Entrance::command_line));
  for (std::string& other : job.after) draft.spec.add_after(std::move(other));
  return draft;
}

// `bound`: the owner whose ids they are to have.
Result<std::vector<Draft>> drafts_of_file(const SubmitVerb& verb, const std::string& bound,
                                          Random& random, WallTime now) {
  std::vector<std::string> ids;
  const auto id_of = [&](size_t job) {
    // A millisecond apart, so that they are listed in the order of the file.
    while (ids.size() <= job) {
      const WallTime at = now + Millis(static_cast<int64_t>(ids.size()));
      ids.push_back(owned_job_id(make_job_id(random, at), bound));
    }
    return ids[job];
  };
  // Of the options, the owner and the key are for all jobs that do not say theirs.
  const spec::JobDraft options = TRY(draft_of_options(verb, now));
  auto jobs = TRY(
      read_jobs(verb.job_file, now, [&](size_t job) { return input_blob_name(id_of(job), ""); }));
  std::vector<Draft> drafts;
  for (FileJob& job : jobs) {
    Draft& draft = drafts.emplace_back(Draft{.id = id_of(drafts.size()),
                                             .key = std::move(job.key),
                                             .spec = std::move(job.spec),
                                             .blobs = std::move(job.blobs),
                                             .stdin_file = {},
                                             .after = job.after_jobs,
                                             .by_slots = job.by_slots});
    if (draft.key.empty() && !options.key.empty()) {
      draft.key = fmt::format("{}.{}", options.key, drafts.size());
    }
    draft.names_owner = !draft.spec.owner().empty();
    if (!draft.names_owner) draft.spec.set_owner(options.spec.owner());
    draft.spec.set_created_us(to_us(now));
    for (std::string& id : job.after_ids) draft.spec.add_after(std::move(id));
    if (const Result<void> checked = spec::check_job(draft.spec, spec::Entrance::job_file);
        !checked.ok()) {
      return Error{checked.error().code,
                   fmt::format("{}:{}: {}", verb.job_file, job.line, checked.error().what)};
    }
  }
  return drafts;
}

// All is checked that can be without the store.
Result<std::vector<Draft>> drafts_of(const SubmitVerb& verb, const std::string& bound,
                                     WallTime now) {
  Random random(random_seed());
  if (!verb.job_file.empty()) return drafts_of_file(verb, bound, random, now);
  std::vector<Draft> drafts;
  drafts.push_back(TRY(draft_of_words(verb, owned_job_id(make_job_id(random, now), bound), now)));
  return drafts;
}

// What it comes after may be given by names and by beginnings of ids.
Result<void> resolve_after(const VerbEnv& env, model::Spec& spec) {
  for (std::string& other : *spec.mutable_after()) {
    other = TRY(find_job(env.store.table(), other, env.clock.wall())).id();
  }
  return {};
}

Result<Submitted> submit_draft(const VerbEnv& env, Draft& draft) {
  SubmitOptions options{.id = draft.id, .key = draft.key};
  for (sources::Gathered::Blob& blob : draft.blobs) {
    options.blobs.push_back(blob_of_bytes(blob.name, std::move(blob.bytes)));
  }
  if (const File* file = draft.stdin_file.file.get(); file != nullptr) {
    options.blobs.push_back(
        {draft.spec.stdin_blob(), draft.stdin_file.size,
         [file](uint64_t offset, size_t max) { return read_part(*file, offset, max); }});
  }
  return submit(env.store, draft.spec, options);
}

// Ctrl-C: the job goes on, and the user hears how to end it. Only what a handler may do.
char interrupted_text[256];
void on_interrupt(int /*signal*/) {
  (void)!::write(STDERR_FILENO, interrupted_text, std::strlen(interrupted_text));
  _exit(kExitInterrupted);
}

void say_how_to_cancel(const std::string& id) {
  const std::string text = fmt::format(
      "\ndunlin: job {} goes on: `dunlin wait {}` waits for it, `dunlin cancel {}` ends "
      "it\n",
      id, id, id);
  text.copy(interrupted_text, sizeof(interrupted_text) - 1);
  struct sigaction action = {};
  if (sigaction(SIGINT, nullptr, &action) != 0 || action.sa_handler == SIG_IGN) return;
  action = {};
  action.sa_handler = on_interrupt;
  sigaction(SIGINT, &action, nullptr);
}

Result<void> print_error_bytes(std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t written = ::write(STDERR_FILENO, bytes.data(), bytes.size());
    if (written <= 0) return {};  // Nobody listens: the results matter more.
    bytes.remove_prefix(static_cast<size_t>(written));
  }
  return {};
}

// The exit code.
Result<int> wait_for(const VerbEnv& env, const model::Job& job, bool ours) {
  say_how_to_cancel(job.id());
  ResultPrinter printer(env.store, job, env.form);
  CutOutputs cut(SIZE_MAX);  // Why a task failed is said at once.
  const auto take = [&](const TaskResult& result) -> Result<void> {
    cut.add(job, result);
    if (env.form == cli::Form::json) {
      TRY(printer.add(result));
      return printer.flush();
    }
    const std::string& id = job.id();
    TRY(read_output(env.store, id, result.task, result.outcome, "out", cli::print));
    TRY(read_output(env.store, id, result.task, result.outcome, "err", print_error_bytes));
    if (result.outcome.state() != model::STATE_OK) {
      cli::complain(fmt::format("task {} {}: {}", result.task, state_word(result.outcome.state()),
                                why_of(result.outcome)));
    }
    return {};
  };
  const Standing standing = TRY(follow_job(env, job, ours, take));
  if (env.form == cli::Form::plain && standing.state != JobState::done) {
    cli::complain(fmt::format("job {} {}", job.id(), ending_words(standing)));
  }
  cut.say();
  if (standing.state != JobState::done) return kExitFailed;
  return cut.any() ? kExitCut : kExitDone;
}

std::string size_words(const model::Spec& spec) {
  if (!spec.has_iterations()) return count_of(spec.tasks(), "task");
  const uint64_t first = spec.iterations().partitions();
  std::string text = fmt::format("{} in {}", count_of(spec.iterations().total(), "iteration"),
                                 count_of(first, "partition"));
  if (first < spec.tasks()) text += fmt::format(", at most {}", spec.tasks());
  return text;
}

Result<void> print_submitted(const SubmitVerb& verb, const VerbEnv& env, const Submitted& submitted,
                             const Draft& draft) {
  const model::Spec& spec = draft.spec;
  if (env.form == cli::Form::json) {
    return cli::print(cli::json_line(submitted_json(submitted, spec)));
  }
  if (env.form == cli::Form::quiet) {
    return verb.wait ? Result<void>() : cli::print(submitted.id + '\n');
  }
  const std::string name = spec.name().empty() ? "" : " (" + spec.name() + ")";
  const std::string text =
      submitted.existed
          ? fmt::format("job {}{} was submitted before with the key {}", submitted.id, name,
                        draft.key)
          : fmt::format("submitted job {}{} of {}", submitted.id, name, size_words(spec));
  if (!verb.wait) return cli::print(text + '\n');
  cli::complain(text);  // Standard output is for that of the tasks.
  return {};
}

}  // namespace

Result<void> check_options(const SubmitVerb& verb) {
  TRY(draft_of_options(verb, posix_clock().wall()));
  return {};
}

Result<int> dry_run(const SubmitVerb& verb) {
  for (Draft& draft : TRY(drafts_of(verb, "", posix_clock().wall()))) {
    const Template commands = TRY(Template::compile(draft.spec));
    const sources::Gathered gathered{.command = {},
                                     .inputs = draft.spec.inputs(),
                                     .tasks = draft.spec.tasks(),
                                     .blobs = std::move(draft.blobs)};
    std::string out;
    for (uint64_t task = 0; task < std::min(gathered.tasks, kShownTasks); ++task) {
      const std::vector<std::string> values = TRY(values_of(gathered, task));
      out += shown_command(TRY(commands.expand(task, values))) + '\n';
    }
    TRY(cli::print(out));
    if (gathered.tasks > kShownTasks) {
      cli::complain(fmt::format("and {} more", count_of(gathered.tasks - kShownTasks, "task")));
    }
  }
  return kExitDone;
}

Result<int> run(const SubmitVerb& verb, const VerbEnv& env) {
  const std::string named = spec::word_in(verb.said, "owner");
  std::vector<Draft> drafts = TRY(drafts_of(verb, env.owner, env.clock.wall()));
  for (Draft& draft : drafts) {
    const std::string owner = draft.names_owner ? draft.spec.owner() : named;
    draft.spec.set_owner(TRY(choose_owner(env.owner, owner, user_name())));
  }
  for (Draft& draft : drafts) TRY(resolve_after(env, draft.spec));
  std::vector<std::string> ids;
  for (Draft& draft : drafts) {
    for (const size_t before : draft.after) draft.spec.add_after(ids[before]);
    if (draft.by_slots) TRY(fit_to_slots(env.store.table(), env.clock.wall(), draft.spec));
    if (verb.wait) draft.spec.set_reply("reply." + draft.id);
    const Submitted submitted = TRY(submit_draft(env, draft));
    ids.push_back(submitted.id);
    if (submitted.existed) {
      draft.spec = TRY(read_job(env.store.table(), submitted.id)).record.spec();
    }
    TRY(print_submitted(verb, env, submitted, draft));
  }
  int code = kExitDone;
  for (size_t i = 0; verb.wait && i < ids.size(); ++i) {
    const model::Job job = TRY(find_job(env.store.table(), ids[i], env.clock.wall()));
    const int ended = TRY(wait_for(env, job, job.id() == drafts[i].id));
    if (code != kExitFailed && ended != kExitDone) code = ended;  // A failure says more.
  }
  return code;
}

}  // namespace dunlin::client
