// An open file descriptor that closes itself; its errors name the file.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>

namespace sluice::planner {

class FileDescriptor {
 public:
  /// Opens `path` with the flags of open(2), creating its folder where `flags` include O_CREAT.
  /// Errors name `known_as` instead of `path` where it is given: for a temporary file, the file
  /// that it will be renamed to. Throws EnvironmentError.
  [[nodiscard]] FileDescriptor(const std::filesystem::path& path, int flags,
                               const std::filesystem::path& known_as = {});
  ~FileDescriptor();
  FileDescriptor(const FileDescriptor&) = delete;  // A copy would close the descriptor twice.
  FileDescriptor& operator=(const FileDescriptor&) = delete;

  [[nodiscard]] int get() const { return descriptor_; }
  /// Writes all of `text` and waits until the disk holds it. Throws EnvironmentError.
  void write_all(std::string_view text) const;
  /// Throws EnvironmentError `WHAT PATH: reason`; the reason is that of errno.
  [[noreturn]] void fail(const char* what) const;

 private:
  std::filesystem::path name_;  ///< Name of the file in error messages.
  int descriptor_ = -1;
};

}  // namespace sluice::planner
