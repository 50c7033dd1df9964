// The options of a command line that describe a job. Looks at the environment (--env NAME) and at
// the current folder (--cwd). One thread, as the environment has it.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "base/result.h"
#include "spec/draft.h"
#include "spec/fields.h"

namespace dunlin::spec {

// What was typed: the words of each field by its name, of a flag "true", or "" after --flag=false.
using Words = std::map<std::string, std::vector<std::string>, std::less<>>;

// Sets all of them but those whose contents are in a file, which may be large: the caller reads
// them. An empty word is as if the option was not given, but for an array, which must be one.
Result<void> set_words(const Words& said, JobDraft& draft);

// The word of an option, or an empty one.
std::string word_in(const Words& said, std::string_view field);

}  // namespace dunlin::spec
