#include "engine/ranks/board.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <fstream>
#include <iterator>

#include "sim/error.hpp"

namespace sluice::engine {
namespace {

[[noreturn]] void throw_unusable(const std::filesystem::path& path, int error) {
  throw EnvironmentError(
      fmt::format("rendezvous: cannot write {}: {}: name a folder that all ranks can write",
                  path.string(), std::strerror(error)));
}

}  // namespace

FolderBoard::FolderBoard(const std::filesystem::path& folder) : folder_(folder) {
  std::error_code error;
  std::filesystem::create_directories(folder, error);
  if (error) throw_unusable(folder, error.value());
}

// A text appears under its key whole, and once: a link to a finished file, which fails where the
// name is taken.
bool FolderBoard::post(const std::string& key, const std::string& text) {
  std::string draft = (folder_ / ".draft-XXXXXX").string();
  const int file = mkstemp(draft.data());
  if (file < 0) throw_unusable(folder_, errno);
  const auto written = ::write(file, text.data(), text.size());
  const int failed = written == static_cast<ssize_t>(text.size()) ? 0 : (errno ? errno : EIO);
  ::close(file);
  const int linked = failed == 0 ? ::link(draft.c_str(), (folder_ / key).c_str()) : -1;
  const int error = failed == 0 ? errno : failed;
  ::unlink(draft.c_str());
  if (linked != 0 && error != EEXIST) throw_unusable(folder_ / key, error);
  return linked == 0;
}

std::optional<std::string> FolderBoard::find(const std::string& key) const {
  std::ifstream file(folder_ / key, std::ios::binary);
  if (!file) return std::nullopt;
  return std::string(std::istreambuf_iterator<char>(file), {});
}

bool MemoryBoard::post(const std::string& key, const std::string& text) {
  const std::lock_guard lock(mutex_);
  return texts_.emplace(key, text).second;
}

std::optional<std::string> MemoryBoard::find(const std::string& key) const {
  const std::lock_guard lock(mutex_);
  const auto found = texts_.find(key);
  return found == texts_.end() ? std::nullopt : std::optional(found->second);
}

}  // namespace sluice::engine
