// A TOML file with several jobs:
//
//   [[job]]
//   name = "simulate"
//   command = "./sim --seed {}"     a line for the shell, or argv = ["./sim", "--seed", "{}"]
//   array = "0-999"                 or values = [..], lines = "FILE", json_lines = "FILE"
//   timeout = "5m"
//
//   [[job]]
//   name = "gather"
//   argv = ["./gather"]
//   after = ["simulate"]            names of jobs above, or ids of other jobs
//
// Its keys are the fields of spec/fields.h: docs/JOBS.md. The file is read and checked whole; every
// error names the file and the line, and what is expected there. Files that it names are looked for
// beside it. Reading blocks; from any thread.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "base/env.h"
#include "base/result.h"
#include "spec/draft.h"

namespace dunlin::client {

struct FileJob {
  uint64_t line = 0;      // Where it begins.
  model::Spec spec = {};  // But for after, the time, and the owner if the file does not say.
  std::string key = {};
  bool by_slots = false;  // Begin with a partition for each slot of the workers.
  std::vector<sources::Gathered::Blob> blobs = {};
  std::vector<size_t> after_jobs = {};      // Of this file: numbers of jobs above, from 0.
  std::vector<std::string> after_ids = {};  // Of other jobs.
};

// What the blobs of the file's n-th job are called, but for a number at the end.
using BlobPrefix = std::function<std::string(size_t job)>;

// Deadlines are from `now` on.
Result<std::vector<FileJob>> parse_jobs(std::string_view text, const std::string& file,
                                        WallTime now, const BlobPrefix& blob_prefix);

Result<std::vector<FileJob>> read_jobs(const std::string& file, WallTime now,
                                       const BlobPrefix& blob_prefix);

}  // namespace dunlin::client
