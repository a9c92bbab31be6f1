#include "planner/files/file_descriptor.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "sim/error.hpp"

namespace sluice::planner {

FileDescriptor::FileDescriptor(const std::filesystem::path& path, int flags,
                               const std::filesystem::path& known_as)
    : name_(known_as.empty() ? path : known_as) {
  if ((flags & O_CREAT) != 0 && path.has_parent_path()) {
    std::error_code error;
    std::filesystem::create_directories(path.parent_path(), error);
    if (error) {
      throw EnvironmentError("cannot make folder " + path.parent_path().string() + ": " +
                             error.message());
    }
  }
  descriptor_ = open(path.c_str(), flags, 0644);
  if (descriptor_ < 0) fail("cannot open");
}

FileDescriptor::~FileDescriptor() {
  if (descriptor_ >= 0) close(descriptor_);
}

void FileDescriptor::write_all(std::string_view text) const {
  while (!text.empty()) {
    const ssize_t written = write(descriptor_, text.data(), text.size());
    if (written < 0) {
      if (errno == EINTR) continue;
      fail("cannot write");
    }
    text.remove_prefix(static_cast<std::size_t>(written));
  }
  // Pipes and devices have nothing to synchronise: EINVAL.
  if (fsync(descriptor_) != 0 && errno != EINVAL) fail("cannot write");
}

void FileDescriptor::fail(const char* what) const {
  const int reason = errno;
  throw EnvironmentError(std::string(what) + " " + name_.string() + ": " + std::strerror(reason));
}

}  // namespace sluice::planner
