#include "engine/datasets/npy_header.hpp"

#include <charconv>
#include <string_view>

#include "sim/error.hpp"

namespace sluice::engine {
namespace {

constexpr std::string_view kMagic = "\x93NUMPY";
constexpr std::string_view kLfsPointer = "version https://git-lfs";

/// Reads the dictionary of a header, a Python literal like {'descr': '<i4', 'fortran_order': False,
/// 'shape': (3, 5), }.
class NpyDictionary {
 public:
  NpyDictionary(std::string_view text, std::string where) : text_(text), where_(std::move(where)) {}

  [[nodiscard]] std::string type() const {
    const std::string_view value = value_of("descr");
    if (value.starts_with('[')) {
      refuse("its values are records with fields: save one field of them as an array of integers");
    }
    const std::size_t end = value.size() < 2 ? value.npos : value.find(value.front(), 1);
    if (end == value.npos || (value.front() != '\'' && value.front() != '"')) damaged();
    return std::string(value.substr(1, end - 1));
  }

  [[nodiscard]] bool fortran_order() const { return value_of("fortran_order").starts_with("True"); }

  [[nodiscard]] std::vector<std::int64_t> shape() const {
    std::string_view value = value_of("shape");
    if (!value.starts_with('(')) damaged();
    std::vector<std::int64_t> sizes;
    for (;;) {
      value.remove_prefix(std::min(value.find_first_not_of("(, L"), value.size()));
      if (value.starts_with(')')) return sizes;
      std::int64_t size = 0;
      const auto [end, error] = std::from_chars(value.data(), value.data() + value.size(), size);
      if (error != std::errc() || size < 0) damaged();
      sizes.push_back(size);
      value.remove_prefix(static_cast<std::size_t>(end - value.data()));
    }
  }

 private:
  /// Text from the value of `key` on.
  [[nodiscard]] std::string_view value_of(std::string_view key) const {
    for (const char quote : {'\'', '"'}) {
      const std::string quoted = quote + std::string(key) + quote;
      const std::size_t found = text_.find(quoted);
      if (found == text_.npos) continue;
      const std::size_t value = text_.find_first_not_of(" :", found + quoted.size());
      if (value != text_.npos) return text_.substr(value);
    }
    damaged();
  }

  [[noreturn]] void refuse(const char* reason) const { throw BadRequest(where_ + ": " + reason); }
  [[noreturn]] void damaged() const { refuse("the header of the .npy file is damaged"); }

  std::string_view text_;
  std::string where_;
};

}  // namespace

NpyHeader read_npy_header(std::span<const std::byte> file, const std::string& where) {
  const std::string_view text(reinterpret_cast<const char*>(file.data()), file.size());
  if (text.starts_with(kLfsPointer)) {
    throw BadRequest(where + ": is a Git LFS pointer: fetch the file with git lfs pull");
  }
  const auto byte = [&](std::size_t i) { return std::size_t{static_cast<unsigned char>(text[i])}; };
  if (!text.starts_with(kMagic) || text.size() < 12) {
    throw BadRequest(where + ": is no .npy file: write it with numpy.save");
  }
  const bool long_header = byte(6) > 1;
  const std::size_t begin = long_header ? 12 : 10;
  std::size_t length = byte(8) | byte(9) << 8;
  if (long_header) length |= byte(10) << 16 | byte(11) << 24;
  if (text.size() - begin < length) throw BadRequest(where + ": the .npy file is cut short");
  const NpyDictionary dictionary(text.substr(begin, length), where);
  return {.type = dictionary.type(),
          .fortran_order = dictionary.fortran_order(),
          .shape = dictionary.shape(),
          .bytes = static_cast<std::int64_t>(begin + length)};
}

}  // namespace sluice::engine
