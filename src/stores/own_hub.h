// Hubs that this user has started on this machine: each leaves a note, so that the user's other
// programs find it and its token without being told. Notes are files in
// $XDG_STATE_HOME/dunlin/hubs, which only the user can read. From any thread.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/result.h"

namespace dunlin::stores {

// The notes of one hub, from its start until it ends in order. What a hub that was killed leaves
// behind does no harm: it is looked at only while that very process runs, and not another one with
// its number.
class HubNotes {
 public:
  HubNotes() = default;
  ~HubNotes();
  HubNotes(const HubNotes&) = delete;
  HubNotes& operator=(const HubNotes&) = delete;

  // One for each URL. All name `way_in` instead, if there is one: by TLS the user's commands would
  // need an authority, and a certificate that names the loopback address.
  Result<void> leave(const std::vector<std::string>& urls, const std::string& token_file,
                     const std::string& way_in = {});

 private:
  std::vector<std::string> files_;
};

// The URL of the hub of this user that was started last and runs; none if there is none.
std::optional<std::string> own_hub();

// The file with the token of the hub at that URL, if it is one of ours; else empty.
std::string own_token_file(const std::string& url);

}  // namespace dunlin::stores
