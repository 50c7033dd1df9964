#include "wire/codec.h"

#include <fmt/format.h>
#include <google/protobuf/arena.h>
#include <google/protobuf/descriptor.h>
#include <google/protobuf/io/coded_stream.h>
#include <google/protobuf/wire_format_lite.h>
#include <limits>

#include "wire/convert.h"
#include "wire/dunlin.pb.h"
#include "wire/frame.h"

namespace dunlin {
namespace {

using google::protobuf::Arena;
using google::protobuf::ArenaOptions;
using google::protobuf::Descriptor;
using google::protobuf::internal::WireFormatLite;
using google::protobuf::io::CodedInputStream;

constexpr size_t kWorkspaceSize = 64 << 10;

// More fields than a full batch of the richest kind has. A field takes at least two bytes, so only
// a long frame can have as many.
constexpr size_t kFieldsMax = 16 * kBatchMax;

// Counts fields at every level, of which a parser would make objects far larger than themselves.
// Stops when there are too many. Malformed bytes end the count: the parser will find them too.
bool has_too_many_fields(CodedInputStream& in, const Descriptor& type, size_t& count) {
  while (const uint32_t tag = in.ReadTag()) {
    if (++count > kFieldsMax) return true;
    const auto* field = type.FindFieldByNumber(WireFormatLite::GetTagFieldNumber(tag));
    const bool nested =
        field != nullptr && field->message_type() != nullptr &&
        WireFormatLite::GetTagWireType(tag) == WireFormatLite::WIRETYPE_LENGTH_DELIMITED;
    if (!nested) {
      if (!WireFormatLite::SkipField(&in, tag)) return false;
      continue;
    }
    const CodedInputStream::Limit limit = in.ReadLengthAndPushLimit();
    if (has_too_many_fields(in, *field->message_type(), count)) return true;
    in.PopLimit(limit);
  }
  return false;
}

template <typename Proto>
Result<void> parse(std::string_view frame, const char* what, Proto& into) {
  if (frame.size() > kFrameMax) {
    return Error{Code::invalid, fmt::format("malformed {}: longer than a frame", what)};
  }
  const int size = static_cast<int>(frame.size());
  if (frame.size() > 2 * kFieldsMax) {
    CodedInputStream in(reinterpret_cast<const uint8_t*>(frame.data()), size);
    size_t count = 0;
    if (has_too_many_fields(in, *Proto::descriptor(), count)) {
      return Error{Code::invalid, fmt::format("{} with more than {} fields: send fewer in one call",
                                              what, kFieldsMax)};
    }
  }
  if (!into.ParseFromArray(frame.data(), size)) {
    return Error{Code::invalid, fmt::format("malformed {} of {} bytes", what, frame.size())};
  }
  return {};
}

void append_frame(const google::protobuf::MessageLite& message, std::string& out) {
  const size_t start = begin_frame(out);
  const size_t body = out.size();
  const size_t size = message.ByteSizeLong();
  CHECK(size <= std::numeric_limits<int>::max());
  out.resize(body + size);
  message.SerializeWithCachedSizesToArray(reinterpret_cast<uint8_t*>(out.data() + body));
  finish_frame(out, start);
}

}  // namespace

// Memory for the messages of one call, given back at its end but for the first block.
class Codec::Workspace {
 public:
  Workspace() : block_(kWorkspaceSize, '\0'), arena_(options()) {}

  template <typename Proto>
  Proto& make() {
    arena_.Reset();
    return *Arena::CreateMessage<Proto>(&arena_);
  }
  void clear() { arena_.Reset(); }

 private:
  ArenaOptions options() {
    ArenaOptions options;
    options.initial_block = block_.data();
    options.initial_block_size = block_.size();
    return options;
  }

  std::string block_;
  Arena arena_;
};

Codec::Codec() : workspace_(std::make_unique<Workspace>()) {}
Codec::~Codec() = default;

void Codec::encode_hello(const Hello& hello, std::string& out) {
  auto& proto = workspace_->make<wire::Hello>();
  proto.set_token(hello.token);
  proto.set_program(hello.program);
  append_frame(proto, out);
}

Result<Hello> Codec::decode_hello(std::string_view frame) {
  auto& proto = workspace_->make<wire::Hello>();
  TRY(parse(frame, "hello", proto));
  return Hello{.token = std::move(*proto.mutable_token()),
               .program = std::move(*proto.mutable_program())};
}

void Codec::encode_greeting(const Greeting& greeting, std::string& out) {
  auto& proto = workspace_->make<wire::Greeting>();
  if (const auto* welcome = std::get_if<Welcome>(&greeting)) {
    proto.mutable_welcome()->set_program(welcome->program);
  } else {
    const auto& refused = std::get<Refused>(greeting);
    proto.mutable_refused()->set_status(status_of(refused.code));
    proto.mutable_refused()->set_what(refused.what);
  }
  append_frame(proto, out);
}

Result<Greeting> Codec::decode_greeting(std::string_view frame) {
  auto& proto = workspace_->make<wire::Greeting>();
  TRY(parse(frame, "greeting", proto));
  if (proto.has_welcome()) {
    return Greeting(Welcome{.program = std::move(*proto.mutable_welcome()->mutable_program())});
  }
  if (!proto.has_refused()) return Error{Code::invalid, "a greeting that is empty"};
  // A later version may have more reasons. Whatever they are, this is a refusal.
  return Greeting(Refused{.code = code_of(proto.refused().status()).value_or(Code::denied),
                          .what = std::move(*proto.mutable_refused()->mutable_what())});
}

void Codec::encode_request(uint64_t id, const Request& request, std::string& out) {
  auto& proto = workspace_->make<wire::Request>();
  proto.set_id(id);
  to_proto(request, proto);
  append_frame(proto, out);
  workspace_->clear();
}

Result<NumberedRequest> Codec::decode_request(std::string_view frame) {
  auto& proto = workspace_->make<wire::Request>();
  TRY(parse(frame, "request", proto));
  NumberedRequest numbered{.id = proto.id(), .request = TRY(request_from(proto))};
  workspace_->clear();
  return numbered;
}

void Codec::encode_answer(uint64_t id, const Answer& answer, std::string& out) {
  auto& proto = workspace_->make<wire::Answer>();
  proto.set_id(id);
  to_proto(answer, proto);
  const size_t size = proto.ByteSizeLong();
  if (size > kFrameMax) {
    proto.Clear();
    proto.set_id(id);
    const Error error{Code::full, fmt::format("the answer would have {} bytes, at most {} are "
                                              "allowed: ask for less in one call",
                                              size, kFrameMax)};
    to_proto(Answer(error), proto);
  }
  append_frame(proto, out);
  workspace_->clear();
}

Result<NumberedAnswer> Codec::decode_answer(std::string_view frame) {
  auto& proto = workspace_->make<wire::Answer>();
  TRY(parse(frame, "answer", proto));
  NumberedAnswer numbered{.id = proto.id(), .answer = TRY(answer_from(proto))};
  workspace_->clear();
  return numbered;
}

}  // namespace dunlin
