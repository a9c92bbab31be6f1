// A file written from start to end, with its checksum.
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

/// What a manifest says of a file.
struct FileRecord {
  std::string name;  ///< Within its folder.
  Bytes bytes{0};
  std::string sha256;
  friend bool operator==(const FileRecord&, const FileRecord&) = default;
};

/// Makes a file, or replaces it, in one pass. Every error is an EnvironmentError naming the path.
class WrittenFile {
 public:
  explicit WrittenFile(const std::filesystem::path& path);

  void append(std::span<const std::byte> bytes);
  void append(std::string_view text);
  /// Waits until the disk holds everything.
  [[nodiscard]] FileRecord finish();

 private:
  std::string name_;
  planner::FileDescriptor file_;
  planner::Sha256 sha_;
  Bytes bytes_{0};
};

/// A file that appears with everything in it or not at all.
class FileInWriting {
 public:
  /// Begins a file beside `path`. Throws EnvironmentError, as all of this does.
  explicit FileInWriting(std::filesystem::path path);
  /// Removes what was written unless it was committed.
  ~FileInWriting();
  FileInWriting(const FileInWriting&) = delete;  // Owns the file beside `path`.
  FileInWriting& operator=(const FileInWriting&) = delete;

  void append(std::span<const std::byte> bytes) { file_.append(bytes); }
  /// Gives the file its name, once the disk holds everything; one that has it already goes.
  void commit();

 private:
  std::filesystem::path path_;
  std::filesystem::path part_;
  WrittenFile file_;
  bool committed_ = false;
};

/// The record of a file that is there. Throws BadRequest where it cannot be read.
[[nodiscard]] FileRecord read_record(const std::filesystem::path& path);

/// A folder that appears with everything in it or not at all.
class FolderInWriting {
 public:
  /// Makes a hidden folder beside `path`, replacing what an earlier attempt left. Throws
  /// EnvironmentError.
  explicit FolderInWriting(std::filesystem::path path);
  /// Removes the hidden folder unless it was committed.
  ~FolderInWriting();
  FolderInWriting(const FolderInWriting&) = delete;  // Owns the hidden folder.
  FolderInWriting& operator=(const FolderInWriting&) = delete;

  [[nodiscard]] const std::filesystem::path& hidden() const { return hidden_; }
  /// Gives the folder its name; one that has it already goes. On return the disk holds the name.
  /// Files in it must have been finished.
  void commit();

 private:
  std::filesystem::path path_;
  std::filesystem::path hidden_;
  bool committed_ = false;
};

}  // namespace sluice::engine
