// How a URL with a password in it is shown: every message, log line and example command that names
// a store goes through here. Pure, but for cover_arguments().
#pragma once

#include <string>
#include <string_view>

namespace dunlin {

// The URL, or the list of them (queue=URL,table=URL), with *** for each password: what stands
// between ':' and '@', and the values of parameters such as password=. A text that is no URL is
// shown the same way, because it may be one with a mistake in it; rather too much is hidden.
std::string printable_url(std::string_view url);

// The same in double quotes, as quote() does it.
std::string quote_url(std::string_view url);

// Overwrites the passwords of URLs in the arguments of this program, so that lists of processes do
// not show them. REQUIRES: what is still needed was copied.
void cover_arguments(int argc, char** argv);

}  // namespace dunlin
