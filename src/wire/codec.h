// Values to frames and back: what a hub is asked and answers (store/request.h), and the greeting
// before that. Pure; the formats are in wire/dunlin.proto and wire/frame.h.
//
// A Codec keeps memory between calls, so share one among the connections of a loop. One thread at a
// time. Nothing that a peer sends is trusted: what is malformed, has no or an unknown operation, or
// too many parts is `invalid`, and takes memory only in proportion to its frame. Names and sizes
// are not looked at here: validate() does that.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <variant>

#include "base/result.h"
#include "store/request.h"

namespace dunlin {

struct Hello {
  std::string token;
  std::string program;  // What calls, e.g. "dunlin 0.1.0"; for logs.
};
struct Welcome {
  std::string program;
};
// The connection ends here. `full` and `unavailable` invite the client to try again later; any
// other code would be the same again.
struct Refused {
  Code code = Code::denied;
  std::string what;
};
using Greeting = std::variant<Welcome, Refused>;

struct NumberedRequest {
  uint64_t id = 0;
  Request request;
};
struct NumberedAnswer {
  uint64_t id = 0;
  Answer answer;
};

class Codec {
 public:
  Codec();
  ~Codec();

  // These append one whole frame to `out`.
  void encode_hello(const Hello& hello, std::string& out);
  void encode_greeting(const Greeting& greeting, std::string& out);
  void encode_request(uint64_t id, const Request& request, std::string& out);

  // An answer that would be longer than kFrameMax goes out as the error `full` instead.
  void encode_answer(uint64_t id, const Answer& answer, std::string& out);

  // These read the body of one frame.
  Result<Hello> decode_hello(std::string_view frame);
  Result<Greeting> decode_greeting(std::string_view frame);
  Result<NumberedRequest> decode_request(std::string_view frame);
  Result<NumberedAnswer> decode_answer(std::string_view frame);

 private:
  class Workspace;
  std::unique_ptr<Workspace> workspace_;
};

}  // namespace dunlin
