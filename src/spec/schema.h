// What is made from the table of job fields for people and programs to read: the JSON Schema of a
// job in the OpenAPI document, and the table of docs/JOBS.md. Pure; from any thread.
#pragma once

#include <string>

namespace dunlin::spec {

// Of the object that POST /jobs takes.
const std::string& job_schema();

// The rows of the table in Markdown, with its head.
std::string fields_guide();

}  // namespace dunlin::spec
