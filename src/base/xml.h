// Text inside XML documents: the answers of S3, the plots.
#pragma once

#include <string>
#include <string_view>

namespace dunlin {

// Also good between double quotes.
void append_xml(std::string_view text, std::string& out);

}  // namespace dunlin
