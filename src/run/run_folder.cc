#include "run/run_folder.h"

#include <cerrno>
#include <fcntl.h>
#include <filesystem>
#include <fmt/format.h>
#include <nlohmann/json.hpp>
#include <optional>
#include <sstream>
#include <sys/file.h>
#include <unistd.h>
#include <vector>

#include "base/env_posix.h"
#include "base/text.h"
#include "run/runner.h"
#include "sources/input.h"
#include "stores/engine/file_store.h"
#include "worker/slots/keeper.h"

namespace dunlin::run {
namespace {

namespace fs = std::filesystem;

constexpr size_t kTextMax = 1 << 20;
constexpr const char* kEndFile = "/end";
constexpr const char* kLockFile = "/lock";

constexpr const char* kLeaving = ".done";

std::string leaving_name(const std::string& folder) { return folder + kLeaving; }

void remove_all(const std::string& path) {
  std::error_code ignored;
  fs::remove_all(path, ignored);
}

// REQUIRES: its lock is held.
void rename_away(const std::string& folder) {
  remove_all(leaving_name(folder));
  std::error_code ignored;
  fs::rename(folder, leaving_name(folder), ignored);
}

Result<void> write_end(const std::string& folder, const RunEnd& end) {
  const auto file = TRY(posix_disk().create(folder + kEndFile));
  return file->write(0, fmt::format("{} {}\n", end.code, end.job));
}

std::optional<RunEnd> read_end(const std::string& folder) {
  const auto text = sources::read_input(folder + kEndFile, kTextMax);
  if (!text.ok()) return std::nullopt;
  RunEnd end;
  std::istringstream words(text.value());
  if (!(words >> end.code >> end.job)) return std::nullopt;
  return end;
}

}  // namespace

Result<void> make_run_folder(const RunName& name, uint64_t tasks) {
  std::error_code failed;
  fs::create_directories(name.folder, failed);
  if (!failed) fs::permissions(name.folder, fs::perms::owner_all, failed);
  if (failed) {
    return Error{
        Code::denied,
        fmt::format("cannot make the folder {}: {}; set XDG_STATE_HOME to choose another place",
                    name.folder, failed.message())};
  }
  const nlohmann::ordered_json note = {{"cwd", name.cwd}, {"line", name.line}, {"tasks", tasks}};
  const std::string text =
      note.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace) + '\n';
  const auto file = TRY(posix_disk().create(name.folder + "/line.json"));
  return file->write(0, text);
}

void remove_left_runs(const RunName& name) {
  std::error_code failed;
  std::vector<std::string> left;
  for (const auto& entry : fs::directory_iterator(fs::path(name.folder).parent_path(), failed)) {
    const std::string path = entry.path().string();
    if (path.ends_with(kLeaving) && !fs::exists(path + kEndFile, failed)) left.push_back(path);
  }
  for (const std::string& path : left) {
    const auto lock = posix_disk().lock(path);  // Else it is still leaving.
    if (lock.ok() && !fs::exists(path + kEndFile, failed)) remove_all(path);
  }
}

std::string holder_of(const std::string& folder) {
  const std::string path = folder + "/store" + kLockFile;
  const int file = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (file < 0) return "";
  const bool held = flock(file, LOCK_SH | LOCK_NB) != 0 && errno == EWOULDBLOCK;
  close(file);
  if (!held) return "";
  const auto text = sources::read_input(path, kTextMax);
  const auto number =
      text.ok()
          ? parse_number("", std::string_view(text.value()).substr(0, text.value().find('\n')))
          : Result<uint64_t>(text.error());
  return number.ok() ? fmt::format("process {}", number.value()) : "another process";
}

std::string others_unfinished(const RunName& name) {
  const fs::path runs = fs::path(name.folder).parent_path();
  std::error_code failed;
  uint64_t others = 0;
  for (const auto& entry : fs::directory_iterator(runs, failed)) {
    if (entry.path() == name.folder || entry.path().has_extension()) continue;
    const auto text = sources::read_input(entry.path().string() + "/line.json", kTextMax);
    if (!text.ok()) continue;
    const auto note = nlohmann::json::parse(text.value(), nullptr, false);
    if (!note.is_object() || !note.contains("cwd") || note["cwd"] != name.cwd) continue;
    if (!holder_of(entry.path().string()).empty()) continue;
    ++others;
  }
  if (others == 0) return "";
  return fmt::format("{} not finished in this folder: `grep -h line {}/*/line.json` shows {}",
                     others == 1 ? "another line was" : fmt::format("{} other lines were", others),
                     runs.string(), others == 1 ? "it" : "them");
}

Result<void> discard_run(const std::string& folder) {
  std::error_code failed;
  if (fs::exists(folder, failed)) {
    const auto store = engine::open_file_store(posix_disk(), posix_clock(), folder + "/store");
    if (!store.ok() && store.error().code == Code::denied) return store.error();
    TRY(worker::end_left_behind(slots_folder(folder)));
    rename_away(folder);
  }
  remove_all(leaving_name(folder));
  return {};
}

std::unique_ptr<LeavingRun> LeavingRun::begin(const std::string& folder, const RunEnd& end) {
  std::unique_ptr<FolderLock> held;
  // Without the two a kill from now on makes the same line start over, as after a good exit.
  if (write_end(folder, end).ok()) {
    if (auto lock = posix_disk().lock(folder); lock.ok()) held = std::move(lock).value();
  }
  rename_away(folder);
  return std::make_unique<LeavingRun>(Private{}, leaving_name(folder), end.code, std::move(held));
}

std::unique_ptr<LeavingRun> LeavingRun::take_over(const std::string& folder, uint64_t job) {
  const std::string leaving = leaving_name(folder);
  std::error_code failed;
  if (fs::exists(folder, failed)) return nullptr;  // A later run, which is not done.
  if (!fs::exists(leaving, failed)) return nullptr;
  auto lock = posix_disk().lock(leaving);
  if (!lock.ok()) return nullptr;  // It is still leaving.
  const std::optional<RunEnd> end = read_end(leaving);
  if (end && end->job == job) {
    return std::make_unique<LeavingRun>(Private{}, leaving, end->code, std::move(lock).value());
  }
  remove_all(leaving);
  return nullptr;
}

// A kill after the end is forgotten makes the same line start over, so what takes time goes first:
// closing a file that was removed can take milliseconds.
LeavingRun::~LeavingRun() {
  std::error_code ignored;
  lock_.reset();
  fs::remove(leaving_ + kLockFile, ignored);
  fs::remove(leaving_ + kEndFile, ignored);
  fs::remove(leaving_, ignored);
}

void LeavingRun::remove_rest() {
  std::error_code failed;
  for (const auto& entry : fs::directory_iterator(leaving_, failed)) {
    const std::string path = entry.path();
    if (path != leaving_ + kEndFile && path != leaving_ + kLockFile) remove_all(path);
  }
}

}  // namespace dunlin::run
