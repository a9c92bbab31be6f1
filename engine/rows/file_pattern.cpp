#include "engine/rows/file_pattern.hpp"

#include <fnmatch.h>

#include <set>
#include <span>

namespace sluice::engine {
namespace {

using std::filesystem::path;

class PatternWalk {
 public:
  /// Adds the files below `folder` that match the rest of the pattern, name by name.
  void add(const path& folder, std::span<const path> names) {
    const path& name = names.front();
    const auto rest = names.subspan(1);
    if (!is_pattern(name)) {
      const path inner = folder / name;
      if (rest.empty()) return add_file(inner);
      if (std::filesystem::is_directory(inner)) add(inner, rest);
      return;
    }
    if (name == "**") {
      if (!rest.empty()) add(folder, rest);
      for (const auto& each : entries(folder)) {
        const bool hidden = each.path().filename().string().starts_with('.');
        if (!hidden && each.is_directory() && !each.is_symlink()) add(each.path(), names);
        if (!hidden && rest.empty()) add_file(each.path());
      }
      return;
    }
    for (const auto& each : entries(folder)) {
      const path found = each.path().filename();
      if (::fnmatch(name.c_str(), found.c_str(), FNM_PERIOD) != 0) continue;
      if (rest.empty()) {
        add_file(each.path());
      } else if (each.is_directory()) {
        add(each.path(), rest);
      }
    }
  }

  [[nodiscard]] std::vector<path> files() const { return {files_.begin(), files_.end()}; }

 private:
  static std::filesystem::directory_iterator entries(const path& folder) {
    return std::filesystem::directory_iterator(folder.empty() ? path(".") : folder);
  }

  void add_file(const path& file) {
    if (!std::filesystem::is_regular_file(file)) return;
    files_.insert(file.string().starts_with("./") ? file.lexically_normal() : file);
  }

  std::set<path> files_;
};

}  // namespace

bool is_pattern(const path& name) {
  return name.string().find_first_of("*?[") != std::string::npos;
}

std::vector<path> matching_files(const path& pattern) {
  const std::vector<path> names(pattern.begin(), pattern.end());
  PatternWalk walk;
  if (!names.empty()) walk.add({}, names);
  return walk.files();
}

}  // namespace sluice::engine
