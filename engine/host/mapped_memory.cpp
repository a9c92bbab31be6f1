#include "engine/host/mapped_memory.hpp"

#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <string>

#include "sim/error.hpp"

namespace sluice::engine {
namespace {

constexpr std::size_t kAlign = 256;  // Alignment of every tensor in a layout.

}  // namespace

MappedMemory::MappedMemory(Bytes bytes, const char* what)
    : size_(static_cast<std::size_t>(bytes.count())) {
  check(bytes.count() >= 0, "memory has no negative size");
  const auto page = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
  const std::size_t used = (size_ + page - 1) / page * page;
  mapped_ = used + page;
  void* mapping =
      mmap(nullptr, mapped_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (mapping == MAP_FAILED) {
    throw EnvironmentError("cannot map " + std::to_string(size_) + " bytes for the " + what + ": " +
                           std::strerror(errno));
  }
  mapping_ = static_cast<std::byte*>(mapping);
  if (mprotect(mapping_ + used, page, PROT_NONE) != 0) {
    const int reason = errno;
    munmap(mapping_, mapped_);
    throw EnvironmentError(std::string("cannot guard the ") + what + ": " + std::strerror(reason));
  }
  data_ = mapping_ + (used - (size_ + kAlign - 1) / kAlign * kAlign);
  std::memset(data_, kUnwritten, size_);
}

MappedMemory::~MappedMemory() { munmap(mapping_, mapped_); }

}  // namespace sluice::engine
