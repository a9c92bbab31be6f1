#include "engine/python/interpreters.hpp"

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <mutex>
#include <sstream>

namespace sluice::engine {
namespace {

/// The interpreter that the process itself runs in; a process has one at most.
struct OwnInterpreter {
  std::mutex mutex;
  std::string path;
};

OwnInterpreter& own_interpreter() {
  static OwnInterpreter own;
  return own;
}

std::string on_path() {
  const char* folders = std::getenv("PATH");
  std::istringstream in(folders == nullptr ? "" : folders);
  for (std::string folder; std::getline(in, folder, ':');) {
    std::error_code error;
    const auto file = std::filesystem::path(folder) / "python3";
    if (file.is_absolute() && std::filesystem::is_regular_file(file, error)) return file.string();
  }
  return {};
}

}  // namespace

void prefer_python(const std::filesystem::path& interpreter) {
  OwnInterpreter& own = own_interpreter();
  const std::lock_guard lock(own.mutex);
  own.path = interpreter.string();
}

std::vector<std::string> python_interpreters() {
  std::vector<std::string> found;
  const auto add = [&found](const std::string& path) {
    if (!path.empty() && std::ranges::find(found, path) == found.end()) found.push_back(path);
  };
  {
    OwnInterpreter& own = own_interpreter();
    const std::lock_guard lock(own.mutex);
    add(own.path);
  }
  for (const char* variable : {"SLUICE_OWN_PYTHON", "SLUICE_PYTHON"}) {
    const char* named = std::getenv(variable);
    add(named == nullptr ? "" : named);
  }
  if (std::filesystem::exists("/usr/bin/python3")) add("/usr/bin/python3");
  add(on_path());
  return found;
}

}  // namespace sluice::engine
