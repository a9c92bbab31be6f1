#include "engine/disk/direct_file.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cstddef>
#include <cstdlib>
#include <string>

namespace sluice::engine {
namespace {

constexpr std::size_t kDirectPage = 4096;

}  // namespace

int open_nameless_file(const std::filesystem::path& folder, const char* prefix) {
  const int nameless = open(folder.c_str(), O_TMPFILE | O_RDWR | O_CLOEXEC, S_IRUSR | S_IWUSR);
  if (nameless >= 0) return nameless;
  std::string name = (folder / (std::string(prefix) + "XXXXXX")).string();
  const int named = mkostemp(name.data(), O_CLOEXEC);
  if (named >= 0) unlink(name.c_str());
  return named;
}

bool pass_page_cache(int descriptor) {
  const int flags = fcntl(descriptor, F_GETFL);
  if (fcntl(descriptor, F_SETFL, flags | O_DIRECT) != 0) return false;
  alignas(kDirectPage) std::array<std::byte, kDirectPage> page{};
  if (pread(descriptor, page.data(), page.size(), 0) == std::ssize(page)) return true;
  fcntl(descriptor, F_SETFL, flags);
  return false;
}

}  // namespace sluice::engine
