// Who runs this program, and where: for owners of jobs and names of workers.
#pragma once

#include <string>

namespace dunlin {

std::string user_name();  // $USER, or uidNNN if that is no name.
std::string host_name();  // Without what is not allowed in names; at most 40 characters.

}  // namespace dunlin
