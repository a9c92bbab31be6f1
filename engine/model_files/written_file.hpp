// Files and folders written from start to end, with checksums, that appear complete or not at all.
#pragma once

#include <cstddef>
#include <filesystem>
#include <span>
#include <string>
#include <string_view>

#include "planner/files/file_descriptor.hpp"
#include "planner/files/hash.hpp"
#include "sim/units.hpp"

namespace sluice::engine {

/// Name, size and checksum of a file, as manifests list them.
struct FileRecord {
  std::string name;  ///< Name within the file's folder.
  Bytes bytes{0};
  std::string sha256;
  friend bool operator==(const FileRecord&, const FileRecord&) = default;
};

/// A file being created or replaced in one pass. Every error is an EnvironmentError naming the
/// path.
class WrittenFile {
 public:
  explicit WrittenFile(const std::filesystem::path& path);

  void append(std::span<const std::byte> bytes);
  void append(std::string_view text);
  /// Waits until the disk holds everything; returns the file's name, size and checksum.
  [[nodiscard]] FileRecord finish();

 private:
  std::string name_;
  planner::FileDescriptor file_;
  planner::Sha256 sha_;
  Bytes bytes_{0};
};

/// A file that appears complete or not at all.
class FileInWriting {
 public:
  /// Begins a hidden file beside `path`. All member functions throw EnvironmentError.
  explicit FileInWriting(std::filesystem::path path);
  /// Removes the hidden file unless it was committed.
  ~FileInWriting();
  FileInWriting(const FileInWriting&) = delete;  // Owns the file beside `path`.
  FileInWriting& operator=(const FileInWriting&) = delete;

  void append(std::span<const std::byte> bytes) { file_.append(bytes); }
  /// Renames the hidden file to `path` once the disk holds everything, replacing an existing file.
  void commit();

 private:
  std::filesystem::path path_;
  std::filesystem::path part_;
  WrittenFile file_;
  bool committed_ = false;
};

/// Name, size and checksum of an existing file. Throws BadRequest if it cannot be read.
[[nodiscard]] FileRecord read_record(const std::filesystem::path& path);

/// A folder that appears complete or not at all.
class FolderInWriting {
 public:
  /// Makes a hidden folder beside `path`, replacing one that an earlier attempt left. Throws
  /// EnvironmentError.
  explicit FolderInWriting(std::filesystem::path path);
  /// Removes the hidden folder unless it was committed.
  ~FolderInWriting();
  FolderInWriting(const FolderInWriting&) = delete;  // Owns the hidden folder.
  FolderInWriting& operator=(const FolderInWriting&) = delete;

  [[nodiscard]] const std::filesystem::path& hidden() const { return hidden_; }
  /// Renames the hidden folder to `path`, replacing an existing folder; on return the disk holds
  /// the name. Files in it must have been finished.
  void commit();

 private:
  std::filesystem::path path_;
  std::filesystem::path hidden_;
  bool committed_ = false;
};

}  // namespace sluice::engine
