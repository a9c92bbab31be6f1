// The bytes of a data file, unpacked while they are read.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <span>
#include <string>

namespace sluice::engine {

/// The unpacked bytes of a file in order, read once.
class ByteStream {
 public:
  virtual ~ByteStream() = default;
  /// Fills the beginning of `out`, which must not be empty, and returns how many bytes; 0 at the
  /// end. Throws BadRequest naming the file if its packed form is damaged, EnvironmentError if the
  /// file cannot be read.
  virtual std::size_t read(std::span<char> out) = 0;
  /// Bytes of the file itself that were read, for progress; at most the file's size.
  [[nodiscard]] virtual std::int64_t bytes_read() const = 0;
};

/// How a file is packed, by its first bytes; `no` means that it is not.
enum class Packed { no, gzip, zstd };

/// Opens `file`, which is unpacked if its first bytes are those of gzip or zstd, whatever its name.
/// Throws BadRequest naming the file if it is missing, no regular file, or packed by another
/// program (with the command that unpacks it).
[[nodiscard]] std::unique_ptr<ByteStream> open_byte_stream(const std::filesystem::path& file);

/// The packing of `file`. Throws as open_byte_stream does.
[[nodiscard]] Packed packed_form(const std::filesystem::path& file);

}  // namespace sluice::engine
