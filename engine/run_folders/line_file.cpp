#include "engine/run_folders/line_file.hpp"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/uio.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <string>

#include "sim/error.hpp"

namespace sluice::engine {

LineFile::LineFile(std::filesystem::path path, Open how) : path_(std::move(path)) {
  const int mode = how == Open::create ? O_TRUNC : 0;
  descriptor_ = ::open(path_.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | mode, 0644);
  if (descriptor_ < 0) fail("open", errno);
}

LineFile::~LineFile() { ::close(descriptor_); }

void LineFile::append(std::string_view line) {
  char newline = '\n';
  iovec parts[2] = {{const_cast<char*>(line.data()), line.size()}, {&newline, 1}};
  const ssize_t wanted = static_cast<ssize_t>(line.size()) + 1;
  ssize_t written = 0;
  do {
    written = ::writev(descriptor_, parts, 2);
  } while (written < 0 && errno == EINTR);
  if (written == wanted) return;
  const int reason = written < 0 ? errno : ENOSPC;
  if (written > 0) {
    const off_t end = ::lseek(descriptor_, 0, SEEK_END);
    // If even that fails, a reader finds one incomplete line; the error below says so already.
    if (end >= written && ::ftruncate(descriptor_, end - written) != 0) fail("truncate", errno);
  }
  fail("write to", reason);
}

void LineFile::flush() {
  // Pipes and character devices have no medium to flush to.
  if (::fsync(descriptor_) != 0 && errno != EINVAL && errno != EROFS) fail("flush", errno);
}

LineFile::Lock::Lock(const LineFile& file) : descriptor_(file.descriptor_) {
  while (::flock(descriptor_, LOCK_EX) != 0 && errno == EINTR) {
  }
}

LineFile::Lock::~Lock() { ::flock(descriptor_, LOCK_UN); }

void LineFile::fail(const char* what, int reason) const {
  throw EnvironmentError(std::string("cannot ") + what + " " + path_.string() + ": " +
                         std::strerror(reason) +
                         (reason == ENOSPC ? " (free some space; earlier lines are intact)" : ""));
}

}  // namespace sluice::engine
