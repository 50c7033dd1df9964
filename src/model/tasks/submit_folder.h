// In which folder a job's tasks run (docs/decisions/030-where-tasks-run.md). Spec.cwd is one of
//   nothing       a fresh folder for each task, removed afterwards
//   /PATH         that folder; a worker without it refuses the task
//   ?MARKS/PATH   the folder from which the job was submitted: that one on a worker where it is the
//                 same folder by base/folder_marks.h, else a fresh one
//
// whole_path() and cwd_from() look at the disk; the other functions are pure. From any thread.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "model/records.pb.h"

namespace dunlin {

inline constexpr std::string_view kTaskFolder = "task";  // --cwd for a fresh folder.

struct SubmitFolder {
  std::string path = {};
  std::vector<std::string> marks = {};
};

// Spec.cwd for it; nothing if it has no marks.
std::string cwd_of(const SubmitFolder& folder);

// From the root, without . and .. and a slash at the end; a link before a .. is followed. Empty if
// the current folder is gone.
std::string whole_path(const std::string& path);

// Spec.cwd of a job that is submitted from this folder: looks at it.
std::string cwd_from(const std::string& folder);

// None if `cwd` is of another kind. `invalid` marks are none at all, so nothing is the same as it.
std::optional<SubmitFolder> submit_folder(std::string_view cwd);

// Spec.cwd without what differs between two submissions from the same path.
std::string_view path_of(std::string_view cwd);

// `invalid` if a task of its own wish runs there, and the job has a fresh folder for each task.
Result<void> check_task_folder(std::string_view cwd);

// The program that the job names relative to the folder it runs in, such as ./sim; empty if none.
std::string relative_program(const model::Command& command);

// `invalid` if the tasks would look for their program in a fresh folder. `option` is how the caller
// spells the folder: "--cwd", "cwd".
Result<void> check_program(const model::Spec& spec, std::string_view option);

}  // namespace dunlin
