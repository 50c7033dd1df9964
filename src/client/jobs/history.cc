// `dunlin history`: what jobs there were each day, whether or not they are still in the store.
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "base/exit.h"
#include "client/jobs/job_verbs.h"
#include "model/keys.h"
#include "model/rows.h"
#include "model/views/json.h"

namespace dunlin::client {

Result<int> run(const HistoryVerb& /*verb*/, const VerbEnv& env) {
  cli::Columns columns({{"DAY"},
                        {"OWNER"},
                        {"JOBS", true},
                        {"OK", true},
                        {"FAILED", true},
                        {"CANCELLED", true},
                        {"SKIPPED", true}});
  std::string after;
  while (true) {
    const std::vector<Row> rows = TRY(env.store.table().scan(kHistory, "", after, 1000));
    if (rows.empty()) break;
    after = rows.back().key;
    for (const Row& row : rows) {
      const auto parsed = parse_row<model::History>(kHistory, row);
      if (!parsed.ok() && is_passed_over(parsed.error())) continue;
      const model::History history = TRY(parsed).record;
      const size_t slash = row.key.find('/');
      const std::string day = row.key.substr(0, slash);
      const std::string owner = row.key.substr(slash + 1);
      if (env.form == cli::Form::json) {
        nlohmann::ordered_json object = json_object();
        object["day"] = day;
        object["owner"] = owner;
        object["jobs"] = history.jobs();
        object["ok"] = history.ok();
        object["failed"] = history.failed();
        object["cancelled"] = history.cancelled();
        object["skipped"] = history.skipped();
        TRY(cli::print(cli::json_line(object)));
        continue;
      }
      columns.add({day, owner, std::to_string(history.jobs()), std::to_string(history.ok()),
                   std::to_string(history.failed()), std::to_string(history.cancelled()),
                   std::to_string(history.skipped())});
    }
  }
  if (env.form == cli::Form::json) return kExitDone;
  if (columns.empty() && env.form == cli::Form::plain) {
    TRY(cli::print("no job has been removed yet\n"));
    return kExitDone;
  }
  TRY(cli::print(columns.text()));
  return kExitDone;
}

}  // namespace dunlin::client
