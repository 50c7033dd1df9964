// Tells whether a folder that one process sees is the folder that another process sees under the
// same path, on this machine or on another one. From any thread.
#pragma once

#include <string>
#include <vector>

namespace dunlin {

// Marks of the folder, each 16 hexadecimal digits; none if it cannot be looked at. Two folders are
// the same if they have a mark in common. There is one for the running kernel, one for the machine,
// which outlives a reboot (if the file system knows when the folder was made), and one for a file
// system that machines share.
std::vector<std::string> folder_marks(const std::string& path);

}  // namespace dunlin
