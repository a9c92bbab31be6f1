// A file read through memory.
#pragma once

#include <cstddef>
#include <filesystem>
#include <span>

namespace sluice::engine {

/// The bytes of a regular file, mapped read-only: pages come from the disk when they are touched.
class MappedFile {
 public:
  /// Throws BadRequest naming the file where it cannot be read or is not a file.
  explicit MappedFile(std::filesystem::path path);
  ~MappedFile();
  MappedFile(const MappedFile&) = delete;  // Views point into the mapping.
  MappedFile& operator=(const MappedFile&) = delete;

  [[nodiscard]] const std::filesystem::path& path() const { return path_; }
  [[nodiscard]] std::span<const std::byte> bytes() const { return {data_, size_}; }
  /// Takes the whole pages inside `part` off this process's memory; they can be touched again.
  void release(std::span<const std::byte> part) const;

 private:
  std::filesystem::path path_;
  const std::byte* data_ = nullptr;
  std::size_t size_ = 0;
};

}  // namespace sluice::engine
