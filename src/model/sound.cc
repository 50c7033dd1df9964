#include "model/sound.h"

#include <algorithm>
#include <functional>

#include "base/names.h"
#include "store/store.h"

namespace dunlin {

bool is_work_queue(std::string_view queue) {
  return queue.starts_with(kWorkQueues) && is_name(queue);
}

bool is_reply_queue(std::string_view queue) {
  return queue.starts_with(kReplyQueues) && is_name(queue);
}

bool is_job_blob(std::string_view name) {
  return name.starts_with(kJobBlobs) && is_visible(name, kKeyMax);
}

bool is_in_order(const google::protobuf::RepeatedPtrField<std::string>& words) {
  return std::ranges::adjacent_find(words, std::greater_equal<>()) == words.end();
}

bool is_after(const google::protobuf::RepeatedPtrField<std::string>& jobs) {
  return std::ranges::all_of(jobs, is_name) && is_in_order(jobs);
}

}  // namespace dunlin
