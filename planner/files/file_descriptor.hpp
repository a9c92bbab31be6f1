// An open file that closes itself and names itself in errors.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>

namespace sluice::planner {

class FileDescriptor {
 public:
  /// Makes the folder of `path` when it creates. Errors name `known_as` where it is given: the file
  /// that one in the making is for. Throws EnvironmentError.
  [[nodiscard]] FileDescriptor(const std::filesystem::path& path, int flags,
                               const std::filesystem::path& known_as = {});
  ~FileDescriptor();
  FileDescriptor(const FileDescriptor&) = delete;  // Two owners would close it twice.
  FileDescriptor& operator=(const FileDescriptor&) = delete;

  [[nodiscard]] int get() const { return descriptor_; }
  /// Writes all of `text` and waits until the disk holds it. Throws EnvironmentError.
  void write_all(std::string_view text) const;
  /// Throws EnvironmentError `WHAT PATH: reason` from errno.
  [[noreturn]] void fail(const char* what) const;

 private:
  std::filesystem::path name_;  ///< In errors.
  int descriptor_ = -1;
};

}  // namespace sluice::planner
