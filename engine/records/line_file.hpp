// A file that grows by whole lines.
#pragma once

#include <filesystem>
#include <string_view>

namespace sluice::engine {

/// Appends lines to a file. A line that does not fit on the disk is taken back, so that the file
/// always ends with a whole line.
class LineFile {
 public:
  enum class Open { create, append };
  /// Throws EnvironmentError naming the path where it cannot be opened.
  LineFile(std::filesystem::path path, Open how);
  ~LineFile();
  LineFile(const LineFile&) = delete;  // Owns a file descriptor.
  LineFile& operator=(const LineFile&) = delete;

  /// Appends `line` and a newline without allocating. Throws EnvironmentError (disk full, ...).
  void append(std::string_view line);
  /// Returns once everything is on the medium (fsync). Throws EnvironmentError.
  void flush();
  [[nodiscard]] const std::filesystem::path& path() const { return path_; }

  /// While it lives no other process that locks this file writes to it. Where the file system knows
  /// no locks, or the file is no regular one, it does nothing.
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
