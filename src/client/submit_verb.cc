#include "client/submit_verb.h"

#include <algorithm>
#include <csignal>
#include <cstring>
#include <fmt/format.h>
#include <nlohmann/json.hpp>
#include <unistd.h>

#include "base/env_posix.h"
#include "base/exit.h"
#include "client/find_job.h"
#include "client/input.h"
#include "client/job_words.h"
#include "client/result_lines.h"
#include "model/expand.h"
#include "model/submit.h"

namespace dunlin {
namespace {

using nlohmann::ordered_json;

constexpr uint64_t kShownTasks = 10;  // Of a dry run.
constexpr size_t kStdinInlineMax = 2 << 10;

Result<Gathered> gather_for(const SubmitVerb& verb, const std::string& id) {
  SourceOptions options{.words = verb.words,
                        .array = verb.array,
                        .json_lines = verb.json_lines,
                        .colsep = verb.colsep,
                        .header = verb.header,
                        .csv = verb.csv,
                        .no_quote = verb.no_quote};
  if (!verb.lines.empty()) options.arg_files = {verb.lines};
  return gather(options, input_blob_name(id, ""));
}

// A job that is ready to be submitted.
struct Draft {
  model::Spec spec;
  SubmitOptions options;
  Readable stdin_file;  // Read while its blob is sent.
};

Result<void> add_stdin(const SubmitVerb& verb, Draft& draft) {
  if (verb.stdin_file.empty()) return {};
  if (verb.stdin_file == "-" && (verb.lines == "-" || verb.json_lines == "-")) {
    return Error{Code::invalid, "standard input cannot be both the lines and --stdin: use a file"};
  }
  draft.stdin_file = TRY(open_input(verb.stdin_file, kBlobMax));
  const File* file = draft.stdin_file.file.get();
  const auto read = [file](uint64_t offset, size_t max) -> Result<std::string> {
    std::string bytes(max, '\0');
    bytes.resize(TRY(file->read(offset, bytes)));
    return bytes;
  };
  const uint64_t size = draft.stdin_file.size;
  if (size <= kStdinInlineMax) {
    draft.spec.set_stdin(TRY(read(0, kStdinInlineMax)));
    return {};
  }
  draft.spec.set_stdin_blob(input_blob_name(draft.options.id, "stdin"));
  draft.options.blobs.push_back({draft.spec.stdin_blob(), size, read});
  return {};
}

Result<Draft> draft_of(const SubmitVerb& verb, const std::string& id, WallTime now) {
  Draft draft{.spec = TRY(spec_of(verb)), .options = {.id = id, .key = verb.key}, .stdin_file = {}};
  Gathered gathered = TRY(gather_for(verb, id));
  *draft.spec.mutable_command() = std::move(gathered.command);
  *draft.spec.mutable_inputs() = std::move(gathered.inputs);
  draft.spec.set_tasks(gathered.tasks);
  draft.spec.set_created_us(to_us(now));
  for (Gathered::Blob& blob : gathered.blobs) {
    draft.options.blobs.push_back(blob_of_bytes(blob.name, std::move(blob.bytes)));
  }
  TRY(add_stdin(verb, draft));
  TRY(validate_spec(draft.spec));
  TRY(Template::compile(draft.spec));
  return draft;
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

Result<int> wait_for(const Desk& desk, const model::Job& job) {
  say_how_to_cancel(job.id());
  ResultPrinter printer(desk.store, job, desk.form);
  const auto take = [&](const TaskResult& result) -> Result<void> {
    if (desk.form == Form::json) {
      TRY(printer.add(result));
      return printer.flush();
    }
    const std::string& id = job.id();
    TRY(read_output(desk.store, id, result.task, result.outcome, "out", print));
    TRY(read_output(desk.store, id, result.task, result.outcome, "err", print_error_bytes));
    if (result.outcome.state() != model::STATE_OK) {
      complain(fmt::format("task {} {}: {}", result.task, state_word(result.outcome.state()),
                           why_of(result.outcome)));
    }
    return {};
  };
  const Standing standing = TRY(follow_job(desk, job, take));
  if (desk.form == Form::plain && standing.state != JobState::done) {
    complain(fmt::format("job {} {}", job.id(), ending_words(standing)));
  }
  return standing.state == JobState::done ? kExitDone : kExitFailed;
}

Result<void> print_submitted(const SubmitVerb& verb, const Desk& desk, const Submitted& submitted,
                             uint64_t tasks) {
  if (desk.form == Form::json) {
    ordered_json object = json_object();
    object["job"] = submitted.id;
    object["tasks"] = tasks;
    object["existed"] = submitted.existed;
    return print(json_line(object));
  }
  if (desk.form == Form::quiet) {
    return verb.wait ? Result<void>() : print(submitted.id + '\n');
  }
  const std::string text =
      submitted.existed
          ? fmt::format("job {} was submitted before with the key {}", submitted.id, verb.key)
          : fmt::format("submitted job {} of {}", submitted.id, count_of(tasks, "task"));
  if (!verb.wait) return print(text + '\n');
  complain(text);  // Standard output is for that of the tasks.
  return {};
}

}  // namespace

Result<int> dry_run(const SubmitVerb& verb) {
  Random random(random_seed());
  const std::string id = make_job_id(random, posix_clock().wall());
  const Gathered gathered = TRY(gather_for(verb, id));
  const Draft draft = TRY(draft_of(verb, id, posix_clock().wall()));
  const Template commands = TRY(Template::compile(draft.spec));
  std::string out;
  const uint64_t tasks = draft.spec.tasks();
  for (uint64_t task = 0; task < std::min(tasks, kShownTasks); ++task) {
    out += shown_command(TRY(commands.expand(task, TRY(values_of(gathered, task))))) + '\n';
  }
  TRY(print(out));
  if (tasks > kShownTasks) {
    complain(fmt::format("and {} more", count_of(tasks - kShownTasks, "task")));
  }
  return kExitDone;
}

Result<int> run(const SubmitVerb& verb, const Desk& desk) {
  Random random(random_seed());
  const std::string id = make_job_id(random, desk.clock.wall());
  Draft draft = TRY(draft_of(verb, id, desk.clock.wall()));
  for (const std::string& other : verb.after) {
    draft.spec.add_after(TRY(find_job(desk.store.table(), other, desk.clock.wall())).id());
  }
  if (verb.wait) draft.spec.set_reply("reply." + id);
  const Submitted submitted = TRY(submit(desk.store, draft.spec, draft.options));
  TRY(print_submitted(verb, desk, submitted, draft.spec.tasks()));
  if (!verb.wait) return kExitDone;
  return wait_for(desk, TRY(find_job(desk.store.table(), submitted.id, desk.clock.wall())));
}

}  // namespace dunlin
