// Files that grow by whole lines.
#pragma once

#include <filesystem>
#include <string_view>

namespace sluice::engine {

/// Appends lines to a file. A line that does not fit on the disk is removed again, so that the file
/// always ends with a whole line.
class LineFile {
 public:
  enum class Open { create, append };
  /// Throws EnvironmentError naming the path if the file cannot be opened.
  LineFile(std::filesystem::path path, Open how);
  ~LineFile();
  LineFile(const LineFile&) = delete;  // Owns a file descriptor.
  LineFile& operator=(const LineFile&) = delete;

  /// Appends `line` and a newline without allocating. Throws EnvironmentError if the disk is full
  /// or fails.
  void append(std::string_view line);
  /// Waits until the disk holds everything (fsync). Throws EnvironmentError.
  void flush();
  [[nodiscard]] const std::filesystem::path& path() const { return path_; }

  /// Lock on the file: while it lives, no other process that locks the file writes to it. Has no
  /// effect on file systems without locks and on pipes and devices.
  class Lock {
   public:
    explicit Lock(const LineFile& file);
    ~Lock();
    Lock(const Lock&) = delete;  // Unlocks once.
    Lock& operator=(const Lock&) = delete;

   private:
    int descriptor_;
  };

 private:
  [[noreturn]] void fail(const char* what, int reason) const;

  std::filesystem::path path_;
  int descriptor_;
};

}  // namespace sluice::engine
