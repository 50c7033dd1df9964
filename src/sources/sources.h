// From the words of `dunlin run` and `dunlin submit` to a command and its inputs:
//
//   CMD... ::: a b c       values; several ::: make all combinations, the last varying fastest
//   CMD... :::+ x y z      values that go along with those of the source before
//   CMD... :::: FILE...    each file a source, a value on each line; - is standard input
//   CMD... ::::+ FILE...   likewise, linked
//
// One word is a line for the shell. Several are a program and its arguments, or with no_quote a
// line of which they are the parts. None means that each value is a line for the shell. Reading
// blocks; from any thread.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "model/jobs/inputs.h"
#include "model/records.pb.h"

namespace dunlin::sources {

struct SourceText {
  std::vector<std::string> values;
  std::string file;  // If not empty: its lines are the values.
  bool linked = false;
  // If set: these, of somebody who keeps them until they are gathered. A million need no copy.
  const std::vector<std::string>* lent = nullptr;
};

struct SourceOptions {
  std::vector<std::string> words{};
  std::vector<std::string> arg_files{};  // Sources before those of the words.
  std::string array{};                   // "0-999", "1-10:3", "0,5,7-9"
  std::string json_lines{};              // A file with an object on each line.
  bool objects = false;                  // The values are such objects.
  bool fresh_folder = false;             // Then an object cannot name a folder below the job's.
  std::string colsep{};
  uint64_t max_args = 0;  // Values for one task, as {1} {2} ...; 0: each value is a task.
  bool header = false;    // The first value of each source names it, or its columns.
  bool csv = false;
  bool null = false;  // Values end with NUL bytes instead of lines.
  bool skip_empty = false;
  bool no_quote = false;
  bool use_stdin = false;  // Its lines are the values if nothing else is given.
  bool any_bytes = false;  // Values may have NUL bytes: they are for functions.
  // What the blob of the only source is called behind the prefix; empty: its number, 1.
  std::string blob_name{};

  bool has_objects() const { return objects || !json_lines.empty(); }
};

// What a job needs of it. The blobs must be stored before the job is submitted.
struct Gathered {
  struct Blob {
    std::string name;
    std::string bytes;
  };
  model::Command command;
  model::Inputs inputs;
  uint64_t tasks = 0;
  std::vector<Blob> blobs;

  void add(SourceWriter::Finished finished);
};

// Where the words stop being the command, and what follows.
struct SplitWords {
  std::vector<std::string> command;
  std::vector<SourceText> sources;
};
Result<SplitWords> split_words(const std::vector<std::string>& words);

// Reads all that is named. Blobs are called `blob_prefix` and a number.
Result<Gathered> gather(const SourceOptions& options, const std::string& blob_prefix);

// The same for a command that is known.
Result<Gathered> gather_inputs(const SourceOptions& options, std::vector<SourceText> sources,
                               const std::string& blob_prefix);

}  // namespace dunlin::sources
