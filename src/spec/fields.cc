#include "spec/fields.h"

#include <algorithm>
#include <array>
#include <vector>

namespace dunlin::spec {
namespace {

constexpr std::array<OldName, 4> kOldNames = {{
    {"line", "command", Entrance::rest},
    {"line", "command", Entrance::sdk},
    {"tags", "requires", Entrance::rest},
    {"json", "json_lines", Entrance::job_file},
}};

}  // namespace

std::span<const JobField> job_fields() {
  static const std::vector<JobField> all = [] {
    std::vector<JobField> rows;
    for (const auto& part : {input_fields(), attempt_fields(), queue_fields()}) {
      rows.insert(rows.end(), part.begin(), part.end());
    }
    return rows;
  }();
  return all;
}

const JobField* find_field(std::string_view name, Entrance entrance) {
  for (const OldName& one : kOldNames) {
    if (one.old == name && one.entrance == entrance) name = one.name;
  }
  const auto fields = job_fields();
  const auto found = std::ranges::find(fields, name, &JobField::name);
  return found == fields.end() || !found->is_at(entrance) ? nullptr : &*found;
}

std::span<const OldName> old_names() { return kOldNames; }

}  // namespace dunlin::spec
