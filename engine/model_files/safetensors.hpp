// Reader of the safetensors format: eight bytes with the length of a JSON header, the header (name,
// dtype, shape and place of every tensor), then the tensors' bytes
// (github.com/huggingface/safetensors#format).
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "engine/model_files/element_type.hpp"
#include "engine/model_files/mapped_file.hpp"

namespace sluice::engine {

/// One tensor as the header describes it.
struct TensorEntry {
  std::string dtype;                ///< Element type as written: "BF16", "F8_E4M3", ...
  std::optional<ElementType> type;  ///< Element type, if it is one that can be loaded.
  std::vector<std::int64_t> shape;
  /// Range of the tensor's bytes, counted from the end of the header.
  std::size_t begin = 0, end = 0;
  [[nodiscard]] std::int64_t elements() const;
};

/// A tensor's shape as text: "[64, 128]".
[[nodiscard]] std::string shape_text(const std::vector<std::int64_t>& shape);

struct SafetensorsHeader {
  std::map<std::string, TensorEntry> tensors;
  std::map<std::string, std::string> metadata;
  std::size_t data_begin = 0;  ///< Offset of the first tensor byte in the file.
};

/// Reads and checks the header of a file's `bytes`. Throws BadRequest `WHERE: ...`, naming the
/// tensor if one is concerned, for: a header longer than the file or than 100 MB (the format's
/// limit), invalid JSON, a missing or wrong field, an unknown dtype, sizes that are not shape times
/// dtype, tensors that overlap, leave gaps or do not end with the file.
[[nodiscard]] SafetensorsHeader read_safetensors_header(std::span<const std::byte> bytes,
                                                        const std::string& where);

/// A mapped file with its header read.
class SafetensorsFile {
 public:
  /// Maps the file and reads its header. Throws BadRequest as read_safetensors_header does.
  explicit SafetensorsFile(const std::filesystem::path& path);

  [[nodiscard]] const std::filesystem::path& path() const { return file_.path(); }
  [[nodiscard]] const SafetensorsHeader& header() const { return header_; }
  [[nodiscard]] const MappedFile& file() const { return file_; }
  [[nodiscard]] const TensorEntry* find(const std::string& name) const;
  [[nodiscard]] std::span<const std::byte> bytes(const TensorEntry& entry) const {
    return file_.bytes().subspan(header_.data_begin + entry.begin, entry.end - entry.begin);
  }

 private:
  MappedFile file_;
  SafetensorsHeader header_;
};

}  // namespace sluice::engine
