// Memory-mapped files.
#pragma once

#include <cstddef>
#include <filesystem>
#include <span>

namespace sluice::engine {

/// The bytes of a regular file, mapped read-only: pages come from the disk when they are touched.
class MappedFile {
 public:
  /// Maps the file. Throws BadRequest naming it if it cannot be read, is not a regular file, or is
  /// a Git LFS pointer.
  explicit MappedFile(std::filesystem::path path);
  ~MappedFile();
  MappedFile(const MappedFile&) = delete;  // Views point into the mapping.
  MappedFile& operator=(const MappedFile&) = delete;

  [[nodiscard]] const std::filesystem::path& path() const { return path_; }
  [[nodiscard]] std::span<const std::byte> bytes() const { return {data_, size_}; }
  /// Removes the whole pages inside `part` from this process's resident memory; reading them again
  /// loads them from the disk.
  void release(std::span<const std::byte> part) const;

 private:
  std::filesystem::path path_;
  const std::byte* data_ = nullptr;
  std::size_t size_ = 0;
};

}  // namespace sluice::engine
