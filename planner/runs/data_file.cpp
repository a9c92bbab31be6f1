#include "planner/runs/data_file.hpp"

#include "sim/error.hpp"

namespace sluice::planner {

void require_data_file(const std::filesystem::path& data) {
  if (!std::filesystem::exists(data) || std::filesystem::is_regular_file(data)) return;
  throw BadRequest("data: " + data.string() +
                   " is not a file: give the path of a text or JSONL file");
}

}  // namespace sluice::planner
