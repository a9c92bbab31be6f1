#include "planner/files/whole_file.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <system_error>

#include "planner/files/file_descriptor.hpp"
#include "planner/files/lfs_pointer.hpp"
#include "sim/error.hpp"
#include "sim/json_object.hpp"

namespace sluice::planner {

std::filesystem::path part_file_of(std::filesystem::path path) {
  if (path.empty()) throw BadRequest("a file to write has no name; give one");
  path += ".part" + std::to_string(getpid());
  return path;
}

void require_writable(const std::filesystem::path& path) {
  if (std::filesystem::exists(path) && !std::filesystem::is_regular_file(path)) {
    const FileDescriptor opens(path, O_WRONLY | O_CLOEXEC);
    return;
  }
  const std::filesystem::path part = part_file_of(path);
  const FileDescriptor opens(part, O_WRONLY | O_CREAT | O_CLOEXEC, path);
  std::error_code ignored;
  std::filesystem::remove(part, ignored);
}

void write_whole_file(const std::filesystem::path& path, const std::string& text) {
  // A device or pipe has no place to put a neighbour; write it directly.
  if (std::filesystem::exists(path) && !std::filesystem::is_regular_file(path)) {
    FileDescriptor(path, O_WRONLY | O_CLOEXEC).write_all(text);
    return;
  }
  const std::filesystem::path part = part_file_of(path);
  try {
    FileDescriptor(part, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, path).write_all(text);
    std::error_code error;
    std::filesystem::rename(part, path, error);
    if (error) throw EnvironmentError("cannot write " + path.string() + ": " + error.message());
  } catch (const EnvironmentError&) {
    std::error_code ignored;
    std::filesystem::remove(part, ignored);
    throw;
  }
}

std::string read_whole_file(const std::filesystem::path& path) {
  std::string text = sim::read_text_file(path.string());
  refuse_lfs_pointer(text, path.string());
  return text;
}

}  // namespace sluice::planner
