// Finds what, in the set-up of this machine, lets others do more with a hub than they should. The
// hub runs all the same: its owner may know better, and is told at each start. From any thread.
#pragma once

#include <string>
#include <vector>

namespace dunlin::hub {

// A line for each; none if all is well.
std::vector<std::string> doubts_about_host(const std::string& data_folder);

}  // namespace dunlin::hub
