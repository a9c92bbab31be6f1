#include "engine/disk/direct_file.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <cstddef>

namespace sluice::engine {
namespace {

constexpr std::size_t kDirectPage = 4096;

}  // namespace

bool pass_page_cache(int descriptor) {
  const int flags = fcntl(descriptor, F_GETFL);
  if (fcntl(descriptor, F_SETFL, flags | O_DIRECT) != 0) return false;
  alignas(kDirectPage) std::array<std::byte, kDirectPage> page{};
  if (pread(descriptor, page.data(), page.size(), 0) == std::ssize(page)) return true;
  fcntl(descriptor, F_SETFL, flags);
  return false;
}

}  // namespace sluice::engine
