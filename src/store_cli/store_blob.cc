// The verbs of `dunlin store blob`: put, get, erase, list.
#include <cstdio>
#include <fmt/format.h>
#include <nlohmann/json.hpp>
#include <utility>

#include "base/env_posix.h"
#include "base/exit.h"
#include "base/text.h"
#include "sources/input.h"
#include "store_cli/store_verbs.h"

namespace dunlin::store_cli {
namespace {

using nlohmann::ordered_json;

constexpr size_t kBlobsPerPage = 1000;

// Calls `take` with the bytes in order. Returns how many there were.
template <typename Take>
Result<uint64_t> read_blob(Blobs& blobs, const std::string& name, const Take& take) {
  uint64_t offset = 0;
  while (true) {
    const std::string part = TRY(blobs.get(name, offset, kBlobPart));
    if (part.empty()) return offset;
    TRY(take(offset, part));
    offset += part.size();
  }
}

// Under another name until it is whole, so that nobody takes a part for the blob.
Result<uint64_t> save_blob(Blobs& blobs, const std::string& name, const std::string& file) {
  TRY(blobs.get(name, 0, 1));  // One that does not exist leaves no trace.
  const std::string partial = fmt::format("{}.{:016x}.part", file, random_seed());
  const auto opened = TRY(posix_disk().create(partial));
  Result<uint64_t> size = read_blob(blobs, name, [&](uint64_t offset, const std::string& part) {
    return opened->write(offset, part);
  });
  if (size.ok() && std::rename(partial.c_str(), file.c_str()) != 0) {
    size = Error{Code::invalid, fmt::format("cannot write {}: is it a folder?", file)};
  }
  if (!size.ok()) (void)posix_disk().remove(partial).ok();  // Why it failed matters more.
  return size;
}

}  // namespace

Result<int> run(const BlobPutVerb& verb, const cli::StoreTarget& target) {
  TRY(validate(BlobEnd{.upload = 0, .name = verb.name, .size = 0}));
  const sources::Readable input = TRY(sources::open_input(verb.file, kBlobMax));
  const auto store = TRY(cli::open_target(target, cli::Missing::make));
  const auto source = [&](uint64_t offset, size_t max) -> Result<std::string> {
    std::string bytes(max, '\0');
    bytes.resize(TRY(input.file->read(offset, bytes)));
    return bytes;
  };
  TRY(store->blobs().put(verb.name, input.size, source));
  if (target.json) {
    TRY(cli::print(cli::json_line(blob_json({verb.name, input.size}))));
  } else if (!target.quiet) {
    TRY(cli::print(fmt::format("{} {}\n", verb.name, human_size(input.size))));
  }
  return kExitDone;
}

Result<int> run(const BlobGetVerb& verb, const cli::StoreTarget& target) {
  TRY(validate(BlobGet{verb.name, 0, 1}));
  const auto store = TRY(cli::open_target(target, cli::Missing::refuse));
  if (verb.file.empty() || verb.file == "-") {
    TRY(read_blob(store->blobs(), verb.name,
                  [](uint64_t, const std::string& part) { return cli::print(part); }));
    return kExitDone;
  }
  const uint64_t size = TRY(save_blob(store->blobs(), verb.name, verb.file));
  if (target.json) {
    TRY(cli::print(cli::json_line(blob_json({verb.name, size}))));
  } else if (!target.quiet) {
    TRY(cli::print(fmt::format("{} {}\n", verb.file, human_size(size))));
  }
  return kExitDone;
}

Result<int> run(const BlobEraseVerb& verb, const cli::StoreTarget& target) {
  TRY(validate(BlobErase{verb.name}));
  const auto store = TRY(cli::open_target(target, cli::Missing::refuse));
  TRY(store->blobs().erase(verb.name));
  if (target.json) {
    ordered_json object = json_object();
    object["erased"] = verb.name;
    TRY(cli::print(cli::json_line(object)));
  } else if (!target.quiet) {
    TRY(cli::print(fmt::format("erased blob {}\n", verb.name)));
  }
  return kExitDone;
}

Result<int> run(const BlobListVerb& verb, const cli::StoreTarget& target) {
  TRY(validate(BlobList{verb.prefix, "", kBlobsPerPage}));
  const auto store = TRY(cli::open_target(target, cli::Missing::refuse));
  std::string after;
  while (true) {
    const std::vector<BlobInfo> blobs = TRY(store->blobs().list(verb.prefix, after, kBlobsPerPage));
    if (blobs.empty()) return kExitDone;
    after = blobs.back().name;
    cli::Columns columns({{"SIZE", true}, {"NAME"}});
    std::string out;
    for (const BlobInfo& blob : blobs) {
      if (target.json) {
        out += cli::json_line(blob_json(blob));
      } else if (target.quiet) {
        out += blob.name + '\n';
      } else {
        columns.add({human_size(blob.size), blob.name});
      }
    }
    TRY(cli::print(columns.empty() ? out : columns.text()));
  }
}

}  // namespace dunlin::store_cli
