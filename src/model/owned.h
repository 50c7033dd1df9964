// Jobs of an owner: those that were submitted with a token that is bound to one. Their ids end with
// the owner's name, "JOBID.OWNER", so that the key of each of their rows, blobs and reply queues
// tells by itself whose it is. Ids of other jobs have no dot. Pure; from any thread.
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"

namespace dunlin {

// So that the names of a job's queues and messages stay within their bounds.
inline constexpr size_t kOwnerMax = 24;

// A hub keeps it: a row OWNER/JOB, empty, for each job of an owner. Nobody else writes it.
inline constexpr std::string_view kOwnedJobs = "_owned";

// What an owner keeps beside jobs: blobs whose names begin with this and the owner's name.
inline constexpr std::string_view kOwnerBlobs = "owners/";

// The name of an owner that a token can be bound to: 1 to 24 of A-Z a-z 0-9 _ -
bool is_owner(std::string_view text);

// The id of a job of this owner; `fresh` itself if there is none.
std::string owned_job_id(std::string fresh, std::string_view owner);

// Whether make_job_id() may have made it, for an owner or for nobody.
bool is_job_id(std::string_view id);

bool is_job_of(std::string_view owner, std::string_view id);

// Empty if the job is nobody's.
std::string_view owner_of_job(std::string_view id);

// The row of the table `keys` for a job that is submitted with a key: each owner has keys of its
// own.
std::string key_row(std::string_view job, std::string_view key);

// "reply.NAME", with the owner's name behind it if there is one.
std::string reply_queue(std::string_view name, std::string_view owner);
bool is_reply_queue_of(std::string_view owner, std::string_view queue);

// Whom the submission is for: the owner that the token is bound to, if it is bound, else who was
// `named`, or else the `default_owner`. `denied` if somebody else was named.
Result<std::string> choose_owner(std::string_view bound, std::string_view named,
                                 std::string_view default_owner);

}  // namespace dunlin
