// Runs a fuzz target without libFuzzer.
//
//   NAME FOLDER...       over its seeds and all files of the folders
//   NAME --seeds FOLDER  writes its seeds there
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <string_view>
#include <vector>

#include "base/check.h"
#include "tests/fuzz/target.h"

namespace {

void run(const std::string& input) {
  CHECK(LLVMFuzzerTestOneInput(reinterpret_cast<const uint8_t*>(input.data()), input.size()) == 0);
}

std::string contents(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  CHECK(file.good());
  return {std::istreambuf_iterator<char>(file), {}};
}

int write_seeds(const std::filesystem::path& folder) {
  std::filesystem::create_directories(folder);
  size_t count = 0;
  for (const std::string& seed : dunlin::seeds()) {
    const std::string name = "seed-" + std::to_string(count++);
    std::ofstream(folder / name, std::ios::binary) << seed;
  }
  std::printf("wrote %zu seeds\n", count);
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  const std::vector<std::string> words(argv + 1, argv + argc);
  if (words.size() == 2 && words[0] == "--seeds") return write_seeds(words[1]);
  size_t seeds = 0;
  for (const std::string& seed : dunlin::seeds()) {
    run(seed);
    ++seeds;
  }
  size_t files = 0;
  for (const std::string& folder : words) {
    std::error_code error;
    for (const auto& entry : std::filesystem::directory_iterator(folder, error)) {
      if (!entry.is_regular_file()) continue;
      std::fprintf(stderr, "%s\n", entry.path().c_str());
      run(contents(entry.path()));
      ++files;
    }
    if (error) std::fprintf(stderr, "%s: %s\n", folder.c_str(), error.message().c_str());
  }
  std::printf("ran %zu seeds and %zu files\n", seeds, files);
  return files > 0 ? 0 : 1;
}
