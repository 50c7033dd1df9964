#include "sources/splitters.h"

#include <fmt/format.h>

namespace dunlin::sources {

Result<void> LineSplitter::keep(std::string_view piece) {
  if (rest_.size() + piece.size() > line_max_) {
    return Error{Code::invalid,
                 fmt::format("line {} has more than {} bytes", lines_ + 1, line_max_)};
  }
  rest_ += piece;
  return {};
}

Result<void> LineSplitter::hand_out() {
  ++lines_;
  TRY(take_(rest_, lines_));
  rest_.clear();
  return {};
}

Result<void> LineSplitter::feed(std::string_view bytes) {
  for (size_t end = 0; (end = bytes.find(end_)) != std::string_view::npos;
       bytes.remove_prefix(end + 1)) {
    TRY(keep(bytes.substr(0, end)));
    TRY(hand_out());
  }
  return keep(bytes);
}

Result<void> LineSplitter::finish() {
  if (rest_.empty()) return {};
  return hand_out();
}

void CsvSplitter::end_field() {
  fields_.push_back(std::move(field_));
  field_.clear();
  at_ = At::start;
}

Result<void> CsvSplitter::end_row() {
  if (at_ == At::plain && field_.ends_with('\r')) {
    field_.pop_back();
    if (field_.empty()) at_ = At::start;
  }
  const bool nothing = fields_.empty() && at_ == At::start;
  end_field();
  if (!nothing) TRY(take_(fields_, row_line_));
  fields_.clear();
  row_bytes_ = 0;
  row_line_ = line_;
  return {};
}

Result<void> CsvSplitter::step(char c) {
  if (++row_bytes_ > row_max_) {
    return Error{Code::invalid,
                 fmt::format("the row that begins on line {} has more than {} bytes: is a quote "
                             "left open?",
                             row_line_, row_max_)};
  }
  if (c == '\n') ++line_;
  if (at_ == At::quoted) {
    if (c == '"') {
      at_ = At::closed;
    } else {
      field_ += c;
    }
  } else if (c == '\n') {
    return end_row();
  } else if (c == separator_) {
    end_field();
  } else if (c == '"' && at_ != At::plain) {
    if (at_ == At::closed) field_ += c;
    at_ = At::quoted;
  } else if (at_ == At::closed) {
    if (c == '\r') return {};
    return Error{Code::invalid,
                 fmt::format("line {} has text after a closing quote: double the quotes that are "
                             "part of a field",
                             line_)};
  } else {
    at_ = At::plain;
    field_ += c;
  }
  return {};
}

Result<void> CsvSplitter::feed(std::string_view bytes) {
  for (const char c : bytes) TRY(step(c));
  return {};
}

Result<void> CsvSplitter::finish() {
  if (at_ == At::quoted) {
    return Error{
        Code::invalid,
        fmt::format("the quote in the row that begins on line {} is never closed", row_line_)};
  }
  return row_bytes_ == 0 ? Result<void>() : end_row();
}

}  // namespace dunlin::sources
