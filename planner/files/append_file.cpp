#include "planner/files/append_file.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <string_view>

#include "planner/files/file_descriptor.hpp"
#include "sim/error.hpp"

namespace sluice::planner {
namespace {

/// Number of bytes of the file up to and with the last newline.
off_t whole_lines(const FileDescriptor& file) {
  struct stat status {};
  if (fstat(file.get(), &status) != 0) file.fail("cannot read");
  for (off_t end = status.st_size; end > 0; --end) {
    char last = 0;
    if (pread(file.get(), &last, 1, end - 1) != 1) file.fail("cannot read");
    if (last == '\n') return end;
  }
  return 0;
}

}  // namespace

void append_lines(const std::filesystem::path& path, const std::string& lines) {
  if (lines.empty()) return;
  const FileDescriptor file(path, O_RDWR | O_CREAT | O_CLOEXEC);
  const off_t held = whole_lines(file);
  try {
    if (ftruncate(file.get(), held) != 0 || lseek(file.get(), held, SEEK_SET) != held) {
      file.fail("cannot append to");
    }
    file.write_all(lines);
  } catch (const EnvironmentError&) {
    if (ftruncate(file.get(), held) != 0) throw;  // What was held stays either way.
    throw;
  }
}

}  // namespace sluice::planner
