// The three files that a process is born with.
#pragma once

namespace dunlin {

// If the starter closed one of them, the next file or socket that we open would get its number, and
// what we print would go there: into the store's log, say. So missing ones are filled first. A
// filled standard output refuses writing, so that a command does not believe it was heard. Call it
// before anything is opened.
void keep_standard_files();

}  // namespace dunlin
