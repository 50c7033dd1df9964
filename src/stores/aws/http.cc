#include "stores/aws/http.h"

#include <algorithm>
#include <array>
#include <fmt/format.h>

#include "net/outages.h"

namespace dunlin::cloud {
namespace {

constexpr long kConnectMs = 5000;
constexpr long kSpeedMin = 256;  // Bytes a second; below that for so long is standing still.
constexpr long kStillSeconds = 15;
constexpr int kFailuresFree = 1;  // One alone may be that of an old connection.
constexpr int kLookMs = 1000;     // How often a wait looks up by itself.
constexpr size_t kHeadersMax = 100;
constexpr size_t kHeaderBytesMax = 16 << 10;

std::array<std::atomic<uint64_t>, 3>& counters() {
  static std::array<std::atomic<uint64_t>, 3> all = {};
  return all;
}

struct Receiver {
  HttpAnswer answer;
  size_t max = 0;
  bool too_long = false;
  bool head_ended = false;
};

size_t take_body(char* bytes, size_t size, size_t count, void* to) {
  auto& receiver = *static_cast<Receiver*>(to);
  if (receiver.answer.body.size() + size * count > receiver.max) {
    receiver.too_long = true;
    return 0;
  }
  receiver.answer.body.append(bytes, size * count);
  return size * count;
}

size_t take_header(char* bytes, size_t size, size_t count, void* to) {
  auto& receiver = *static_cast<Receiver*>(to);
  std::string_view line(bytes, size * count);
  if (line.starts_with("HTTP/")) receiver.answer.headers.clear();  // After a 100.
  receiver.head_ended = line == "\r\n" || line == "\n";
  const size_t colon = line.find(':');
  if (colon == std::string_view::npos || line.size() > kHeaderBytesMax ||
      receiver.answer.headers.size() >= http::kHeadersMax) {
    return size * count;
  }
  std::string name(line.substr(0, colon));
  std::ranges::transform(name, name.begin(), [](char c) {
    return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  });
  line.remove_prefix(colon + 1);
  const size_t from = line.find_first_not_of(" \t\r\n");
  const size_t to_end = line.find_last_not_of(" \t\r\n");
  line = from == std::string_view::npos ? "" : line.substr(from, to_end - from + 1);
  receiver.answer.headers.emplace_back(std::move(name), line);
  return size * count;
}

// host[:port] of a URL, for people.
std::string place_of(const std::string& url) {
  const size_t from = url.find("//");
  if (from == std::string::npos) return url;
  return url.substr(from + 2, url.find_first_of("/?", from + 2) - from - 2);
}

Error failure(CURLcode code, const std::string& place) {
  switch (code) {
    case CURLE_COULDNT_RESOLVE_HOST:
      return {Code::unavailable,
              fmt::format("there is no host {}: check the region or endpoint in the URL, and the "
                          "network",
                          place)};
    case CURLE_PEER_FAILED_VERIFICATION:
    case CURLE_SSL_CACERT_BADFILE:
      return {Code::denied, fmt::format("{} shows a certificate that is not trusted here: give the "
                                        "file of its authority (AWS_CA_BUNDLE)",
                                        place)};
    default:
      return {Code::unavailable,
              fmt::format("no answer from {}: {}", place, curl_easy_strerror(code))};
  }
}

}  // namespace

HttpClient::HttpClient(std::string ca_file) : ca_file_(std::move(ca_file)) {
  static const CURLcode started = curl_global_init(CURL_GLOBAL_DEFAULT);
  CHECK(started == CURLE_OK);
  multi_.reset(curl_multi_init());
  easy_.reset(curl_easy_init());
  CHECK(multi_ != nullptr && easy_ != nullptr);
}

CURLcode HttpClient::perform(const HttpRequest& request) {
  CHECK(curl_multi_add_handle(multi_.get(), easy_.get()) == CURLM_OK);
  CURLcode result = CURLE_ABORTED_BY_CALLBACK;
  int running = 1;
  while (running > 0 && !(request.stoppable && stopped_)) {
    if (curl_multi_perform(multi_.get(), &running) != CURLM_OK) break;
    if (running > 0) curl_multi_poll(multi_.get(), nullptr, 0, kLookMs, nullptr);
  }
  int left = 0;
  while (const CURLMsg* message = curl_multi_info_read(multi_.get(), &left)) {
    if (message->msg == CURLMSG_DONE) result = message->data.result;
  }
  curl_multi_remove_handle(multi_.get(), easy_.get());
  return result;
}

Result<HttpAnswer> HttpClient::send(const HttpRequest& request) {
  const std::string place = place_of(request.url);
  if (request.stoppable && stopped_) {
    return Error{Code::unavailable, fmt::format("told to stop waiting for {}", place)};
  }
  CURL* const easy = easy_.get();
  curl_easy_reset(easy);
  std::unique_ptr<curl_slist, decltype(&curl_slist_free_all)> list(nullptr, &curl_slist_free_all);
  const auto add = [&](const std::string& line) {
    curl_slist* const longer = curl_slist_append(list.get(), line.c_str());
    CHECK(longer != nullptr);
    static_cast<void>(list.release());
    list.reset(longer);
  };
  add("expect:");  // No asking before a body is sent.
  if (http::find_header(request.headers, "content-type") == nullptr) add("content-type:");
  for (const auto& [name, value] : request.headers) {
    add(value.empty() ? name + ";" : fmt::format("{}: {}", name, value));
  }
  Receiver receiver{.answer = {}, .max = request.answer_max};
  curl_easy_setopt(easy, CURLOPT_URL, request.url.c_str());
  curl_easy_setopt(easy, CURLOPT_PATH_AS_IS, 1L);
  curl_easy_setopt(easy, CURLOPT_PROTOCOLS_STR, "http,https");
  curl_easy_setopt(easy, CURLOPT_HTTP_VERSION, static_cast<long>(CURL_HTTP_VERSION_1_1));
  curl_easy_setopt(easy, CURLOPT_HTTPHEADER, list.get());
  curl_easy_setopt(easy, CURLOPT_NOSIGNAL, 1L);
  curl_easy_setopt(easy, CURLOPT_TCP_KEEPALIVE, 1L);
  curl_easy_setopt(easy, CURLOPT_CONNECTTIMEOUT_MS, kConnectMs);
  curl_easy_setopt(easy, CURLOPT_TIMEOUT_MS,
                   static_cast<long>(std::max<int64_t>(request.timeout.count(), 1)));
  if (!request.stoppable) {  // The others wait for something.
    curl_easy_setopt(easy, CURLOPT_LOW_SPEED_LIMIT, kSpeedMin);
    curl_easy_setopt(easy, CURLOPT_LOW_SPEED_TIME, kStillSeconds);
  }
  // Without TLS it is this machine or its metadata: not for a proxy.
  if (request.url.starts_with("http://")) curl_easy_setopt(easy, CURLOPT_PROXY, "");
  if (!ca_file_.empty()) curl_easy_setopt(easy, CURLOPT_CAINFO, ca_file_.c_str());
  if (request.method == "HEAD") {
    curl_easy_setopt(easy, CURLOPT_NOBODY, 1L);
  } else if (request.method == "GET") {
    curl_easy_setopt(easy, CURLOPT_HTTPGET, 1L);
  } else {
    curl_easy_setopt(easy, CURLOPT_POST, 1L);
    curl_easy_setopt(easy, CURLOPT_POSTFIELDS, request.body.data());
    curl_easy_setopt(easy, CURLOPT_POSTFIELDSIZE_LARGE,
                     static_cast<curl_off_t>(request.body.size()));
    curl_easy_setopt(easy, CURLOPT_CUSTOMREQUEST, request.method.c_str());
  }
  curl_easy_setopt(easy, CURLOPT_WRITEFUNCTION, &take_body);
  curl_easy_setopt(easy, CURLOPT_WRITEDATA, &receiver);
  curl_easy_setopt(easy, CURLOPT_HEADERFUNCTION, &take_header);
  curl_easy_setopt(easy, CURLOPT_HEADERDATA, &receiver);

  const CURLcode result = perform(request);
  if (receiver.too_long) {
    return Error{Code::invalid,
                 fmt::format("the answer of {} has more than {} bytes", place, request.answer_max)};
  }
  if (request.stoppable && stopped_ && result != CURLE_OK) {
    return Error{Code::unavailable, fmt::format("told to stop waiting for {}", place)};
  }
  nobody_there_ = result == CURLE_COULDNT_CONNECT || result == CURLE_COULDNT_RESOLVE_HOST;
  if (result != CURLE_OK) {
    const Error error = failure(result, place);
    if (request.told) net::note_failure(place, error.what, kFailuresFree);
    return error;
  }
  if (request.told) net::note_answer(place);
  // A connection that ends within the head is an answer to curl, without what is missing.
  if (!receiver.head_ended) return failure(CURLE_PARTIAL_FILE, place);
  long status = 0;
  curl_easy_getinfo(easy, CURLINFO_RESPONSE_CODE, &status);
  receiver.answer.status = static_cast<int>(status);
  return std::move(receiver.answer);
}

void HttpClient::stop() {
  stopped_ = true;
  curl_multi_wakeup(multi_.get());
}

Sent requests_sent() {
  return {.sqs = counters()[0], .dynamodb = counters()[1], .s3 = counters()[2]};
}

void count_request(Service service) { counters()[static_cast<size_t>(service)] += 1; }

}  // namespace dunlin::cloud
