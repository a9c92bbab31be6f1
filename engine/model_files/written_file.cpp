#include "engine/model_files/written_file.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <system_error>

#include "engine/model_files/mapped_file.hpp"
#include "sim/error.hpp"

namespace sluice::engine {
namespace {

using std::filesystem::path;

void sync_folder(const path& folder) {
  const planner::FileDescriptor open(folder.empty() ? path(".") : folder,
                                     O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  // Some file systems cannot synchronise folders: EINVAL.
  if (::fsync(open.get()) != 0 && errno != EINVAL) open.fail("cannot write");
}

void require_done(const std::error_code& error, const path& place) {
  if (error) throw EnvironmentError("cannot write " + place.string() + ": " + error.message());
}

}  // namespace

WrittenFile::WrittenFile(const path& path)
    : name_(path.filename().string()), file_(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC) {}

void WrittenFile::append(std::span<const std::byte> bytes) {
  sha_.update(bytes);
  bytes_ += Bytes(static_cast<std::int64_t>(bytes.size()));
  while (!bytes.empty()) {
    const ssize_t written = ::write(file_.get(), bytes.data(), bytes.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) file_.fail("cannot write");
    bytes = bytes.subspan(static_cast<std::size_t>(written));
  }
}

void WrittenFile::append(std::string_view text) { append(std::as_bytes(std::span(text))); }

FileRecord WrittenFile::finish() {
  if (::fsync(file_.get()) != 0 && errno != EINVAL) file_.fail("cannot write");
  return {name_, bytes_, sha_.hex()};
}

FileInWriting::FileInWriting(path path)
    : path_(std::move(path)),
      part_(path_.string() + ".part" + std::to_string(::getpid())),
      file_(part_) {}

FileInWriting::~FileInWriting() {
  if (committed_) return;
  std::error_code ignored;
  std::filesystem::remove(part_, ignored);
}

void FileInWriting::commit() {
  (void)file_.finish();
  std::error_code error;
  std::filesystem::rename(part_, path_, error);
  require_done(error, path_);
  committed_ = true;
}

FileRecord read_record(const path& path) {
  const MappedFile file(path);
  planner::Sha256 sha;
  constexpr std::size_t kPart = std::size_t{16} << 20;
  const std::span<const std::byte> bytes = file.bytes();
  for (std::size_t at = 0; at < bytes.size(); at += kPart) {
    const auto part = bytes.subspan(at, std::min(kPart, bytes.size() - at));
    sha.update(part);
    file.release(part);
  }
  return {path.filename().string(), Bytes(static_cast<std::int64_t>(bytes.size())), sha.hex()};
}

FolderInWriting::FolderInWriting(path path)
    : path_(std::move(path)),
      hidden_(path_.parent_path() / ("." + path_.filename().string() + ".partial")) {
  std::error_code error;
  std::filesystem::remove_all(hidden_, error);
  require_done(error, hidden_);
  std::filesystem::create_directories(hidden_, error);
  require_done(error, hidden_);
}

FolderInWriting::~FolderInWriting() {
  if (committed_) return;
  std::error_code ignored;
  std::filesystem::remove_all(hidden_, ignored);
}

void FolderInWriting::commit() {
  sync_folder(hidden_);
  std::error_code error;
  // One call, so that at every moment either the old or the new folder exists.
  const unsigned how = std::filesystem::exists(path_) ? RENAME_EXCHANGE : 0;
  if (::renameat2(AT_FDCWD, hidden_.c_str(), AT_FDCWD, path_.c_str(), how) != 0) {
    require_done(std::error_code(errno, std::generic_category()), path_);
  }
  committed_ = true;
  sync_folder(path_.parent_path());
  if (how == RENAME_EXCHANGE) std::filesystem::remove_all(hidden_, error);
}

}  // namespace sluice::engine
