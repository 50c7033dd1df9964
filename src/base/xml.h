// Escapes text for XML documents: the answers of S3, the plots. Pure.
#pragma once

#include <string>
#include <string_view>

namespace dunlin {

// Also good between double quotes. What XML cannot hold at all becomes the sign for that (U+FFFD).
// REQUIRES: the text is UTF-8, or its reader bears that it is not.
void append_xml(std::string_view text, std::string& out);
std::string xml_text(std::string_view text);  // The same as a string of its own.

}  // namespace dunlin
