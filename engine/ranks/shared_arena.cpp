#include "engine/ranks/shared_arena.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <string>

#include "planner/machines/host_memory.hpp"
#include "sim/error.hpp"
#include "sim/units_text.hpp"

namespace sluice::engine {
namespace {

/// Value of every byte before it is written: NaN in fp32 and bf16, so that a read of unwritten
/// memory shows up in the loss.
constexpr int kUnwritten = 0xFF;

/// Device, number and time of change of a file, together of no other memory of this system.
std::string identity_of(int file) {
  struct stat found {};
  if (fstat(file, &found) != 0) return {};
  return std::to_string(found.st_dev) + ":" + std::to_string(found.st_ino) + ":" +
         std::to_string(found.st_ctim.tv_sec) + "." + std::to_string(found.st_ctim.tv_nsec);
}

}  // namespace

SharedArena::SharedArena(Bytes bytes) {
  const auto lacks = planner::shortage(bytes, planner::host_memory());
  if (lacks && lacks->certain) throw EnvironmentError(lacks->line);
  file_ = memfd_create("sluice-weights", MFD_CLOEXEC);
  const std::string what = planner::format_bytes(bytes) + " of host memory that ranks share: ";
  if (file_ < 0) throw EnvironmentError("cannot make " + what + std::strerror(errno));
  try {
    // Pages that are there from the beginning: one that is missing would end the process without a
    // message.
    int failed = EINTR;
    while (failed == EINTR) failed = posix_fallocate(file_, 0, bytes.count());
    if (failed != 0) throw EnvironmentError("cannot make " + what + std::strerror(failed));
    map(bytes);
  } catch (...) {
    close(file_);
    throw;
  }
  std::memset(data_, kUnwritten, size_);
}

SharedArena::SharedArena(Bytes bytes, const std::string& address) {
  const std::size_t space = address.find(' ');
  const std::string path = address.substr(0, space);
  file_ = open(path.c_str(), O_RDWR | O_CLOEXEC);
  if (file_ < 0) throw EnvironmentError(path + ": " + std::strerror(errno));
  try {
    if (space == std::string::npos || identity_of(file_) != address.substr(space + 1)) {
      throw EnvironmentError(path + " is other memory than that of the first rank");
    }
    map(bytes);
  } catch (...) {
    close(file_);
    throw;
  }
}

void SharedArena::map(Bytes bytes) {
  check(bytes > Bytes(0), "memory to share has a size");
  size_ = static_cast<std::size_t>(bytes.count());
  const auto page = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
  mapped_ = (size_ + page - 1) / page * page;
  void* mapping = mmap(nullptr, mapped_, PROT_READ | PROT_WRITE, MAP_SHARED, file_, 0);
  if (mapping == MAP_FAILED) {
    throw EnvironmentError("cannot map " + planner::format_bytes(bytes) +
                           " of host memory that ranks share: " + std::strerror(errno));
  }
  data_ = static_cast<std::byte*>(mapping);
}

SharedArena::~SharedArena() {
  kept_.reset();
  munmap(data_, mapped_);
  close(file_);
}

std::string SharedArena::address() const {
  return "/proc/" + std::to_string(getpid()) + "/fd/" + std::to_string(file_) + " " +
         identity_of(file_);
}

std::shared_ptr<void> SharedArena::keep(const std::function<std::shared_ptr<void>()>& make) {
  const std::lock_guard lock(mutex_);
  if (!kept_) kept_ = make();
  return kept_;
}

std::vector<std::shared_ptr<SharedArena>> share_among_threads(Bytes bytes, std::size_t ranks,
                                                              int local) {
  std::vector<std::shared_ptr<SharedArena>> arenas;
  while (arenas.size() < ranks) {
    const bool first = arenas.size() % static_cast<std::size_t>(local) == 0;
    arenas.push_back(first ? std::make_shared<SharedArena>(bytes) : arenas.back());
  }
  return arenas;
}

std::shared_ptr<SharedArena> share_among_processes(Bytes bytes, Control& control, int local) {
  const int rank = control.world().rank, first = rank / local * local;
  try {
    std::shared_ptr<SharedArena> arena;
    if (rank == first) arena = std::make_shared<SharedArena>(bytes);
    const std::vector<std::string> addresses = control.gather(arena ? arena->address() : "");
    if (!arena) {
      try {
        arena = std::make_shared<SharedArena>(bytes, addresses[static_cast<std::size_t>(first)]);
      } catch (const EnvironmentError& error) {
        throw EnvironmentError("plan: gather: host: rank " + std::to_string(rank) +
                               " cannot open the memory of rank " + std::to_string(first) + " (" +
                               error.what() +
                               "): start the ranks of a host where they see each other's "
                               "processes, or set plan.gather=fabric");
      }
    }
    // The first rank keeps its process until all have opened the memory.
    (void)control.gather("");
    return arena;
  } catch (const RankFailure&) {
    throw;
  } catch (const std::exception& error) {
    control.fail(error.what());
    throw;
  }
}

}  // namespace sluice::engine
