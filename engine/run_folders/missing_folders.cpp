#include "engine/run_folders/missing_folders.hpp"

#include <system_error>

namespace sluice::engine {

std::vector<std::filesystem::path> missing_folders(const std::filesystem::path& path) {
  std::vector<std::filesystem::path> missing;
  std::error_code error;  // A folder that cannot be examined is not to be removed either.
  for (std::filesystem::path at = std::filesystem::absolute(path).lexically_normal();
       !std::filesystem::exists(at, error) && at.has_relative_path(); at = at.parent_path()) {
    if (at.has_filename()) missing.push_back(at);
  }
  return missing;
}

}  // namespace sluice::engine
