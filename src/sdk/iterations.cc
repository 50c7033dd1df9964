// dunlin::Iterations: how the program of a partition asks its worker for what to do next.
#include <array>
#include <cerrno>
#include <charconv>
#include <cstdio>
#include <cstdlib>
#include <dunlin/iterations.h>
#include <string_view>
#include <sys/socket.h>
#include <unistd.h>

namespace dunlin::sdk {
inline namespace v1 {
namespace {

constexpr int kNone = -1;
constexpr size_t kLineMax = 200;

int channel() noexcept {
  const char* text = std::getenv("DUNLIN_CHANNEL");
  if (text == nullptr) return kNone;
  int descriptor = kNone;
  const std::string_view digits(text);
  std::from_chars(digits.data(), digits.data() + digits.size(), descriptor);
  return descriptor;
}

// A line, without its end; empty if nobody answers.
std::string_view ask(std::string_view question, std::array<char, kLineMax>& answer) noexcept {
  const int descriptor = channel();
  if (descriptor < 0) return {};
  while (!question.empty()) {
    const ssize_t sent = send(descriptor, question.data(), question.size(), MSG_NOSIGNAL);
    if (sent < 0 && errno == EINTR) continue;
    if (sent <= 0) return {};
    question.remove_prefix(static_cast<size_t>(sent));
  }
  size_t size = 0;
  while (size < answer.size()) {
    const ssize_t count = read(descriptor, answer.data() + size, 1);
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) return {};
    if (answer[size] == '\n') return {answer.data(), size};
    ++size;
  }
  return {};
}

}  // namespace

std::optional<Iterations> next() noexcept {
  std::array<char, kLineMax> bytes = {};
  const std::string_view answer = ask("next\n", bytes);
  if (!answer.starts_with("do ")) return std::nullopt;
  Iterations part;
  const char* const end = answer.data() + answer.size();
  const auto first = std::from_chars(answer.data() + 3, end, part.first);
  if (first.ec != std::errc() || first.ptr == end) return std::nullopt;
  const auto count = std::from_chars(first.ptr + 1, end, part.count);
  if (count.ec != std::errc()) return std::nullopt;
  return part;
}

bool leave(uint64_t done) noexcept {
  std::array<char, 40> line = {};
  const int size = std::snprintf(line.data(), line.size(), "leave %llu\n",
                                 static_cast<unsigned long long>(done));
  std::array<char, kLineMax> bytes = {};
  return ask({line.data(), static_cast<size_t>(size)}, bytes) == "end";
}

bool is_partition() noexcept { return channel() >= 0; }

}  // namespace v1
}  // namespace dunlin::sdk
