#include "engine/model_files/mapped_file.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "planner/files/lfs_pointer.hpp"
#include "sim/error.hpp"

namespace sluice::engine {
namespace {

/// Bytes of a file's beginning that tell a Git LFS pointer.
constexpr std::size_t kPointerBytes = 64;

}  // namespace

MappedFile::MappedFile(std::filesystem::path path) : path_(std::move(path)) {
  const int descriptor = ::open(path_.c_str(), O_RDONLY | O_CLOEXEC);
  if (descriptor < 0) {
    throw BadRequest(path_.string() + ": cannot be opened: " + std::strerror(errno));
  }
  struct stat status {};
  if (::fstat(descriptor, &status) != 0 || !S_ISREG(status.st_mode)) {
    ::close(descriptor);
    throw BadRequest(path_.string() + ": is not a file");
  }
  size_ = static_cast<std::size_t>(status.st_size);
  void* mapped =
      size_ == 0 ? nullptr : ::mmap(nullptr, size_, PROT_READ, MAP_SHARED, descriptor, 0);
  const int reason = errno;
  ::close(descriptor);
  if (mapped == MAP_FAILED) {
    throw EnvironmentError(path_.string() + ": cannot be mapped: " + std::strerror(reason));
  }
  data_ = static_cast<const std::byte*>(mapped);
  try {
    planner::refuse_lfs_pointer(
        {reinterpret_cast<const char*>(data_), std::min(size_, kPointerBytes)}, path_.string());
  } catch (...) {
    ::munmap(mapped, size_);
    throw;
  }
}

MappedFile::~MappedFile() {
  if (data_ != nullptr) ::munmap(const_cast<std::byte*>(data_), size_);
}

void MappedFile::release(std::span<const std::byte> part) const {
  const auto page = static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
  // The mapping begins at a page.
  const auto offset = static_cast<std::size_t>(part.data() - data_);
  const std::size_t begin = (offset + page - 1) / page * page;
  const std::size_t end = (offset + part.size()) / page * page;
  // Only advice: where it is refused, pages stay until the system wants them.
  if (begin < end) {
    ::madvise(const_cast<std::byte*>(data_) + begin, end - begin, MADV_DONTNEED);
  }
}

}  // namespace sluice::engine
