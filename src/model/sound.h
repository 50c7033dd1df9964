// What rows may say. Whoever may submit writes rows of jobs, routes and messages with any client,
// and workers, sweepers and readers of lists meet them with rights of their own: what no program of
// ours would write must stop nobody but its own job. Pure; from any thread.
#pragma once

#include <cstdint>
#include <google/protobuf/repeated_ptr_field.h>
#include <string>
#include <string_view>

namespace dunlin {

// What the names of queues with work begin with, of those for replies, and of blobs of jobs. Others
// are somebody else's: a store may refuse them to a worker, which would end it.
inline constexpr std::string_view kWorkQueues = "work.";
inline constexpr std::string_view kReplyQueues = "reply.";
inline constexpr std::string_view kJobBlobs = "jobs/";

bool is_work_queue(std::string_view queue);
bool is_reply_queue(std::string_view queue);
bool is_job_blob(std::string_view name);

// As our clients write what a job comes after, and what it requires: in order, nothing twice. Rows
// that follow from them are in one commit, which must not name one twice.
bool is_in_order(const google::protobuf::RepeatedPtrField<std::string>& words);
bool is_after(const google::protobuf::RepeatedPtrField<std::string>& jobs);  // Names in order.

// Microseconds since 1970. Beyond these bounds nobody has measured them, and sums would overflow.
inline constexpr int64_t kTimeMostUs = int64_t{1} << 60;
inline constexpr bool is_time_us(int64_t time_us) { return time_us >= 0 && time_us <= kTimeMostUs; }

}  // namespace dunlin
