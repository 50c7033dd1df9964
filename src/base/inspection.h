// Keeps other processes of the same user out of this one. It holds for the whole process, whichever
// thread calls.
#pragma once

namespace dunlin {

// From now on nobody but root can debug this process, look into its memory or read the environment
// that it was started with; and it leaves no core dump, which would have all of that. Not so in a
// build with a sanitizer, which looks for leaks as a debugger does.
void forbid_inspection();

}  // namespace dunlin
