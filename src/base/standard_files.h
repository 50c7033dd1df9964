// The three files that a process is born with: standard input, output and error. For the main
// thread; flushing blocks while the reader does not read.
#pragma once

#include "base/result.h"

namespace dunlin {

// If the starter closed one of them, the next file or socket that we open would get its number, and
// what we print would go there: into the store's log, say. So missing ones are filled first. A
// filled standard output refuses writing, so that a command does not believe it was heard. Call it
// before anything is opened.
void keep_standard_files();

// What was printed and is still held back. An error if some of it cannot be written, now or before.
Result<void> flush_standard_output();
// The same for a server, which serves also if nobody hears where: what cannot be written is
// dropped.
void flush_or_drop();

}  // namespace dunlin
