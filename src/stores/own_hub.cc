#include "stores/own_hub.h"

#include <cerrno>
#include <charconv>
#include <cstring>
#include <fcntl.h>
#include <filesystem>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/folders.h"
#include "base/text.h"
#include "base/who.h"
#include "stores/hub_engine.h"

namespace dunlin::stores {
namespace {

constexpr size_t kNoteMax = 8 << 10;
constexpr size_t kNotesMost = 1000;  // That are looked at.

struct Note {
  std::string url = {};
  std::string token_file = {};
  std::string host = {};
  std::string process = {};
  std::string birth = {};  // Empty in notes of older programs.
};

Error failure(std::string_view doing, const std::string& path) {
  return {Code::unavailable, fmt::format("cannot {} {}: {}", doing, path, std::strerror(errno))};
}

// What clients on this machine call it.
HubAddress as_client(HubAddress address) {
  if (address.host == "localhost" || address.host == "0.0.0.0") address.host = "127.0.0.1";
  if (address.host == "::") address.host = "::1";
  return address;
}

// Machines may share a home.
std::string name_of(const HubAddress& address) {
  return fmt::format("{}@{}:{}", host_name(), address.host, address.port);
}

std::string text_of(const HubAddress& address) {
  const bool six = address.host.find(':') != std::string::npos;
  return fmt::format("{}://{}{}{}:{}", address.tls ? "dunlin+tls" : "dunlin", six ? "[" : "",
                     address.host, six ? "]" : "", address.port);
}

Result<void> write_note(const std::string& path, const std::string& text) {
  const std::string fresh = fmt::format("{}.{}", path, getpid());
  unlink(fresh.c_str());
  const int file = open(fresh.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
  if (file < 0) return failure("create", fresh);
  const ssize_t written = write(file, text.data(), text.size());
  const bool whole = written == static_cast<ssize_t>(text.size());
  const bool renamed = whole && rename(fresh.c_str(), path.c_str()) == 0;
  const Error error = failure("write", path);
  close(file);
  if (renamed) return {};
  unlink(fresh.c_str());
  return error;
}

// None if it is not a whole note of this user.
std::optional<Note> read_note(const std::string& path) {
  const int file = open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
  if (file < 0) return std::nullopt;
  struct stat found = {};
  std::string text(kNoteMax, '\0');
  const bool ours = fstat(file, &found) == 0 && S_ISREG(found.st_mode) &&
                    found.st_uid == geteuid() && (found.st_mode & 077U) == 0;
  const ssize_t size = ours ? read(file, text.data(), text.size()) : -1;
  close(file);
  if (size <= 0) return std::nullopt;
  text.resize(static_cast<size_t>(size));
  Note note;
  std::string_view rest = text;
  for (std::string* line : {&note.url, &note.token_file, &note.host, &note.process, &note.birth}) {
    const size_t end = rest.find('\n');
    if (end == std::string_view::npos) {
      if (line == &note.birth && rest.empty()) break;
      return std::nullopt;
    }
    *line = rest.substr(0, end);
    rest.remove_prefix(end + 1);
  }
  return note;
}

// Once this hub is gone, its address may be anybody's, and its number any process's: whoever
// listens there must not get the token.
bool runs(const Note& note) {
  pid_t process = 0;
  const char* const end = note.process.data() + note.process.size();
  const auto parsed = std::from_chars(note.process.data(), end, process);
  if (parsed.ec != std::errc() || parsed.ptr != end || process <= 0) return false;
  return note.host == host_name() && !note.birth.empty() && note.birth == process_birth(process);
}

// Of hubs of this machine that were killed: nobody else removes them.
void remove_dead_notes(const std::string& folder) {
  std::error_code failed;
  std::vector<std::string> dead;
  std::filesystem::directory_iterator files(folder, failed);
  while (!failed && files != std::filesystem::directory_iterator() && dead.size() < kNotesMost) {
    const std::optional<Note> note = read_note(files->path().string());
    if (note && note->host == host_name() && !runs(*note)) dead.push_back(files->path().string());
    files.increment(failed);
  }
  for (const std::string& file : dead) unlink(file.c_str());
}

}  // namespace

HubNotes::~HubNotes() {
  for (const std::string& file : files_) {
    const std::optional<Note> note = read_note(file);
    const bool ours = note && note->process == std::to_string(getpid()) && runs(*note);
    if (ours) unlink(file.c_str());
  }
}

Result<void> HubNotes::leave(const std::vector<std::string>& urls, const std::string& token_file,
                             const std::string& way_in) {
  const std::string folder = TRY(state_folder("hubs"));
  std::error_code failed;
  std::filesystem::create_directories(folder, failed);
  if (failed) {
    return Error{Code::unavailable, fmt::format("cannot make {}: {}", folder, failed.message())};
  }
  remove_dead_notes(folder);
  const std::string file = std::filesystem::absolute(token_file, failed).string();
  for (const std::string& url : urls) {
    const HubAddress address = as_client(TRY(parse_hub_url(url)));
    std::string path = fmt::format("{}/{}", folder, name_of(address));
    TRY(write_note(
        path, fmt::format("{}\n{}\n{}\n{}\n{}\n", way_in.empty() ? text_of(address) : way_in, file,
                          host_name(), getpid(), process_birth(getpid()))));
    files_.push_back(std::move(path));
  }
  return {};
}

std::optional<std::string> own_hub() {
  const auto folder = state_folder("hubs");
  if (!folder.ok()) return std::nullopt;
  std::error_code failed;
  std::optional<std::string> newest;
  std::filesystem::file_time_type newest_at;
  size_t seen = 0;
  std::filesystem::directory_iterator files(folder.value(), failed);
  for (; !failed && files != std::filesystem::directory_iterator() && seen < kNotesMost; ++seen) {
    const std::string path = files->path().string();
    const auto at = std::filesystem::last_write_time(path, failed);
    const std::optional<Note> note = read_note(path);
    if (!failed && note && runs(*note) && (!newest || at > newest_at)) {
      newest = note->url;
      newest_at = at;
    }
    failed.clear();
    files.increment(failed);
  }
  return newest;
}

std::string own_token_file(const std::string& url) {
  const auto address = parse_hub_url(url);
  const auto folder = state_folder("hubs");
  if (!address.ok() || !folder.ok()) return {};
  const auto note =
      read_note(fmt::format("{}/{}", folder.value(), name_of(as_client(address.value()))));
  return note && runs(*note) ? note->token_file : std::string();
}

}  // namespace dunlin::stores
