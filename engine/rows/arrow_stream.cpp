#include "engine/rows/arrow_stream.hpp"

#include <algorithm>
#include <fstream>
#include <string>
#include <string_view>

#include "sim/warning.hpp"

namespace sluice::engine {
namespace {

constexpr std::string_view kFileMark = "ARROW1";
constexpr std::string_view kMessageMark = "\xff\xff\xff\xff";
constexpr std::string_view kNoLength("\0\0\0\0", 4);

/// Up to `count` bytes of a file from `offset` on, counted from its end if that is negative.
std::string bytes_at(std::ifstream& in, std::streamoff offset, std::size_t count) {
  in.clear();
  in.seekg(offset, offset < 0 ? std::ios::end : std::ios::beg);
  std::string bytes(count, '\0');
  in.read(bytes.data(), static_cast<std::streamsize>(count));
  bytes.resize(static_cast<std::size_t>(std::max<std::streamsize>(0, in.gcount())));
  return bytes;
}

}  // namespace

bool ends_as_arrow(const std::filesystem::path& file) {
  std::ifstream in(file, std::ios::binary);
  const std::string begin = bytes_at(in, 0, kFileMark.size());
  if (begin.starts_with(kFileMark)) return true;
  const bool marked = begin.starts_with(kMessageMark);
  const std::string end = (marked ? std::string(kMessageMark) : "") + std::string(kNoLength);
  return bytes_at(in, -static_cast<std::streamoff>(end.size()), end.size()) == end;
}

void warn_of_cut_streams(std::span<const std::filesystem::path> files) {
  constexpr std::int64_t kMostNamed = 3;
  std::string names;
  std::int64_t cut = 0;
  for (const std::filesystem::path& file : files) {
    if (ends_as_arrow(file)) continue;
    if (cut++ < kMostNamed) names += (names.empty() ? "" : ", ") + file.string();
  }
  if (cut == 0) return;
  if (cut > kMostNamed) names += " and " + std::to_string(cut - kMostNamed) + " more";
  sim::warn("data: " + names + (cut == 1 ? " lacks" : " lack") +
            " the marker that ends an Arrow stream: if the writing was cut off, rows are missing; "
            "write it again and close its writer");
}

}  // namespace sluice::engine
