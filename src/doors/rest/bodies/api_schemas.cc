#include "doors/rest/bodies/api_schemas.h"

namespace dunlin::rest {
namespace {

constexpr std::string_view kProblem = R"({"type":"object","properties":{
    "type":{"type":"string"},"title":{"type":"string"},"status":{"type":"integer"},
    "code":{"type":"string"},"detail":{"type":"string"}},
  "required":["type","title","status","code","detail"]})";

constexpr std::string_view kSubmitted = R"({"type":"object","properties":{
    "v":{"type":"integer"},"job":{"type":"string"},"name":{"type":"string"},
    "tasks":{"type":"integer"},"existed":{"type":"boolean"}},
  "required":["v","job","name","tasks","existed"]})";

constexpr std::string_view kJob = R"({"type":"object","properties":{
    "v":{"type":"integer"},"job":{"type":"string"},"name":{"type":"string"},
    "owner":{"type":"string"},
    "state":{"type":"string",
      "enum":["waiting","open","done","failed","cancelled","skipped"]},
    "tasks":{"type":"integer"},"ok":{"type":"integer"},"failed":{"type":"integer"},
    "waiting":{"type":"integer"},"created_us":{"type":"integer"},"ended_us":{"type":"integer"},
    "why":{"type":"string"},"rate":{"type":"number"},"eta_s":{"type":"number"},
    "failures":{"type":"array","items":{"type":"object","properties":{
      "why":{"type":"string"},"count":{"type":"integer"}},"required":["why","count"]}}},
  "required":["v","job","name","owner","state","tasks","ok","failed","waiting","created_us"]})";

constexpr std::string_view kProgress = R"({"allOf":[{"$ref":"#/components/schemas/Job"},
    {"type":"object","properties":{
      "finish_by_us":{"type":"integer","description":"Only of a job with a deadline"},
      "iterations":{"$ref":"#/components/schemas/Iterations"},
      "spec":{"type":"object","description":
        "How the job was described, by the fields of POST /jobs; those in not_shown are left out"}},
    "required":["rate","failures"]}]})";

constexpr std::string_view kIterations = R"({"type":"object","description":
    "Only of a job with iterations; speed and chance while open, more_slots until its deadline",
  "properties":{
    "total":{"type":"integer"},"done":{"type":"integer"},"speed":{"type":"number"},
    "eta_s":{"type":"integer"},"chance":{"type":"number"},"more_slots":{"type":"integer"},
    "partitions":{"type":"array","items":{"type":"object","properties":{
      "partition":{"type":"integer"},"state":{"type":"string","enum":["waits","runs","ended"]},
      "attempt":{"type":"integer"},"done":{"type":"integer"},"share":{"type":"integer"},
      "speed":{"type":"number"},
      "spans":{"type":"array","description":"First, and the one after the last",
        "items":{"type":"array","items":{"type":"integer"},"minItems":2,"maxItems":2}}},
    "required":["partition","state","attempt","done","share","speed","spans"]}}},
  "required":["total","done","partitions"]})";

constexpr std::string_view kTurn = R"({"type":"object","description":
    "Iterations to do next; or nothing now, ask again; or nothing is left, end","properties":{
    "first":{"type":"integer"},"count":{"type":"integer"},"wait_ms":{"type":"integer"},
    "end":{"type":"boolean"}},
  "oneOf":[{"required":["first","count"]},{"required":["wait_ms"]},{"required":["end"]}]})";

constexpr std::string_view kJobs = R"({"type":"object","properties":{
    "jobs":{"type":"array","items":{"$ref":"#/components/schemas/Job"}},
    "next":{"type":"string","description":"after, for the next page; absent at the end"}},
  "required":["jobs"]})";

constexpr std::string_view kCancelled = R"({"type":"object","properties":{
    "v":{"type":"integer"},"job":{"type":"string"},"cancelled":{"type":"boolean"},
    "state":{"type":"string"}},"required":["v","job","cancelled","state"]})";

constexpr std::string_view kExplained = R"({"type":"object","properties":{
    "v":{"type":"integer"},"job":{"type":"string"},"state":{"type":"string"},
    "text":{"type":"string","description":"Sentences, one a line"}},
  "required":["v","job","state","text"]})";

constexpr std::string_view kRetried = R"({"type":"object","properties":{
    "v":{"type":"integer"},"job":{"type":"string"},"retried":{"type":"integer"},
    "round":{"type":"integer"}},"required":["v","job","retried","round"]})";

constexpr std::string_view kResult = R"({"type":"object","description":
    "A task without an outcome has only job, task and state.","properties":{
    "v":{"type":"integer"},"job":{"type":"string"},"task":{"type":"integer"},
    "state":{"type":"string","enum":["ok","failed","crashed","timeout","lost","refused","waiting",
      "cancelled"]},
    "exit":{"type":"integer"},"signal":{"type":"integer"},"attempt":{"type":"integer"},
    "blame":{"type":"string","enum":["task","worker","store"],"description":
      "Whose fault it is that the task is not ok"},
    "why":{"type":"string"},"stdout":{"type":"string"},"stdout_base64":{"type":"string"},
    "stdout_size":{"type":"integer"},"stdout_blob":{"type":"string"},
    "stdout_cut":{"type":"integer"},"stderr":{"type":"string"},
    "stderr_base64":{"type":"string"},"stderr_size":{"type":"integer"},
    "stderr_blob":{"type":"string"},"stderr_cut":{"type":"integer"},"value":{"type":"string"},
    "value_base64":{"type":"string"},"worker":{"type":"string"},"created_us":{"type":"integer"},
    "received_us":{"type":"integer"},"started_us":{"type":"integer"},
    "ended_us":{"type":"integer"},"committed_us":{"type":"integer"}},
  "required":["v","job","task","state"]})";

constexpr std::string_view kResults = R"({"type":"object","properties":{
    "results":{"type":"array","items":{"$ref":"#/components/schemas/Result"}},
    "next":{"type":"integer","description":"after, for the next page; absent at the end"}},
  "required":["results"]})";

constexpr std::string_view kWorkers = R"({"type":"object","properties":{
    "workers":{"type":"array","items":{"type":"object","properties":{
      "v":{"type":"integer"},"worker":{"type":"string"},"host":{"type":"string"},
      "pid":{"type":"integer"},"state":{"type":"string","enum":["online","draining","offline"]},
      "slots":{"type":"integer"},"busy":{"type":"integer"},"load":{"type":"number"},
      "tags":{"type":"array","items":{"type":"string"}},"mem_bytes":{"type":"integer"},
      "gpus":{"type":"integer"},"done":{"type":"integer"},"failed":{"type":"integer"},
      "started_ms":{"type":"integer"},"seen_ms":{"type":"integer"}},
    "required":["v","worker","host","pid","state","slots","busy","load","tags","mem_bytes","gpus",
      "done","failed","started_ms","seen_ms"]}},
    "next":{"type":"string"}},"required":["workers"]})";

constexpr std::string_view kDepth = R"({"type":"object","properties":{
    "v":{"type":"integer"},"queue":{"type":"string"},"ready":{"type":"integer"},
    "leased":{"type":"integer"}},"required":["v","queue","ready","leased"]})";

constexpr std::string_view kInfrastructures = R"({"type":"object","properties":{
    "infrastructures":{"type":"array","items":{"type":"object","properties":{
      "v":{"type":"integer"},"tenant":{"type":"string"},"infrastructure":{"type":"string"},
      "slots":{"type":"integer"},"max_slots":{"type":"integer"},"seen_ms":{"type":"integer"},
      "state":{"type":"string","enum":["live","silent"]},"required_cap":{"type":"number"},
      "advised_slots":{"type":"integer"}},
    "required":["v","tenant","infrastructure","slots","max_slots","seen_ms","state","required_cap",
      "advised_slots"]}}},"required":["infrastructures"]})";

constexpr std::string_view kBlob = R"({"type":"object","properties":{
    "v":{"type":"integer"},"name":{"type":"string"},"size":{"type":"integer"}},
  "required":["v","name","size"]})";

constexpr std::string_view kBlobs = R"({"type":"object","properties":{
    "blobs":{"type":"array","items":{"$ref":"#/components/schemas/Blob"}},
    "next":{"type":"string"}},"required":["blobs"]})";

constexpr std::string_view kVersion = R"({"type":"object","properties":{
    "v":{"type":"integer"},"version":{"type":"string"},"api":{"type":"string"}},
  "required":["v","version","api"]})";

constexpr std::string_view kTenantJob = R"({"type":"object","description":
    "A refused job file is not a job: it has only file, state, refused and taken_ms","properties":{
    "v":{"type":"integer"},"job":{"type":"string"},"file":{"type":"string"},
    "state":{"type":"string","enum":["refused","waiting","running","done","failed","lost"]},
    "refused":{"type":"string"},"taken_ms":{"type":"integer"},"iterations":{"type":"integer"},
    "done":{"type":"integer"},"partitions":{"type":"integer"},"waiting":{"type":"integer"},
    "running":{"type":"integer"},"finished":{"type":"integer"},"eta_s":{"description":
      "Seconds from the last report; null: nobody knows"}},
  "required":["v","file","state","taken_ms"]})";

constexpr std::string_view kTenantJobs = R"({"type":"object","properties":{
    "jobs":{"type":"array","items":{"$ref":"#/components/schemas/TenantJob"}},
    "next":{"type":"string","description":"after, for the next page; absent at the end"}},
  "required":["jobs"]})";

constexpr std::string_view kPartitions = R"({"type":"object","properties":{
    "partitions":{"type":"array","items":{"type":"object","properties":{
      "v":{"type":"integer"},"partition":{"type":"integer"},
      "state":{"type":"string",
        "enum":["waiting","handed","running","finished","done","spare","failed"]},
      "assigned":{"type":"integer"},"done":{"type":"integer"},"speed":{"type":"number"},
      "infrastructure":{"type":"string"},"turn":{"type":"integer"},"heard_ms":{"type":"integer"},
      "results":{"type":"boolean","description":"They can be fetched"}},
    "required":["v","partition","state","assigned","done","speed","infrastructure","turn",
      "heard_ms","results"]}}},"required":["partitions"]})";

constexpr std::string_view kTenantFile = R"({"type":"object","properties":{
    "v":{"type":"integer"},"key":{"type":"string"},"size":{"type":"integer"},
    "modified_ms":{"type":"integer"}},"required":["v","key","size","modified_ms"]})";

constexpr std::string_view kTenantFiles = R"({"type":"object","properties":{
    "files":{"type":"array","items":{"$ref":"#/components/schemas/TenantFile"}},
    "next":{"type":"string","description":"after, for the next page; absent at the end"}},
  "required":["files"]})";

constexpr std::string_view kTenantPut = R"({"oneOf":[{"$ref":"#/components/schemas/TenantFile"},
    {"type":"object","description":"What a job file has become","properties":{
      "v":{"type":"integer"},"file":{"type":"string"},"job":{"type":"string"},
      "existed":{"type":"boolean","description":"The same file had become this job before"}},
    "required":["v","file","job","existed"]}]})";

}  // namespace

const std::vector<std::pair<std::string_view, std::string_view>>& api_schemas() {
  static const std::vector<std::pair<std::string_view, std::string_view>> all = {
      {"Problem", kProblem},
      {"Submitted", kSubmitted},
      {"Job", kJob},
      {"Progress", kProgress},
      {"Jobs", kJobs},
      {"Cancelled", kCancelled},
      {"Explained", kExplained},
      {"Retried", kRetried},
      {"Result", kResult},
      {"Results", kResults},
      {"Workers", kWorkers},
      {"Depth", kDepth},
      {"Infrastructures", kInfrastructures},
      {"Blob", kBlob},
      {"Blobs", kBlobs},
      {"Version", kVersion},
      {"Iterations", kIterations},
      {"Turn", kTurn},
      {"TenantJob", kTenantJob},
      {"TenantJobs", kTenantJobs},
      {"Partitions", kPartitions},
      {"TenantFile", kTenantFile},
      {"TenantFiles", kTenantFiles},
      {"TenantPut", kTenantPut},
  };
  return all;
}

}  // namespace dunlin::rest
