#include "planner/runs/data_file.hpp"

#include "planner/runs/run_config.hpp"
#include "sim/error.hpp"

namespace sluice::planner {

void require_data_file(const std::filesystem::path& data) {
  if (!std::filesystem::exists(data) || std::filesystem::is_regular_file(data)) return;
  throw BadRequest("data: " + data.string() +
                   " is not a file: give the path of a text or JSONL file");
}

const std::filesystem::path& only_data(const RunConfig& config) {
  if (config.data.empty()) throw BadRequest("data is missing: give --data FILE");
  const DataEntry& first = config.data.front();
  if (config.data.size() > 1) {
    throw BadRequest("data: " + names_of(config.data) + " are several data sets: give one file");
  }
  if (!is_plain(first) || config.max_samples || !config.columns.empty() || config.strict) {
    throw BadRequest("data: " + first.name.string() +
                     " has max_samples, columns, strict or settings of its own: give a file alone");
  }
  return first.name;
}

}  // namespace sluice::planner
