#include "engine/rows/byte_stream.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <string_view>

#include "engine/rows/packed_stream.hpp"
#include "sim/error.hpp"

namespace sluice::engine {
namespace {

class FileStream : public ByteStream {
 public:
  explicit FileStream(const std::filesystem::path& file) : file_(file.string()) {
    struct stat status {};
    if (::stat(file.c_str(), &status) != 0) {
      const bool broken = std::filesystem::is_symlink(file);
      throw BadRequest("data: cannot read " + file_ + ": " +
                       (broken ? "it is a link to a file that is not there: fetch it again"
                               : std::strerror(errno)));
    }
    if (!S_ISREG(status.st_mode)) throw BadRequest("data: " + file_ + " is not a file");
    descriptor_ = ::open(file.c_str(), O_RDONLY | O_CLOEXEC);
    if (descriptor_ < 0) {
      throw BadRequest("data: cannot open " + file_ + ": " + std::strerror(errno));
    }
  }
  ~FileStream() override { ::close(descriptor_); }
  FileStream(const FileStream&) = delete;  // Owns a file descriptor.
  FileStream& operator=(const FileStream&) = delete;

  std::size_t read(std::span<char> out) override {
    for (;;) {
      const ssize_t got = ::read(descriptor_, out.data(), out.size());
      if (got < 0 && errno == EINTR) continue;
      if (got < 0) {
        throw EnvironmentError("data: reading " + file_ + " failed: " + std::strerror(errno));
      }
      bytes_read_ += got;
      return static_cast<std::size_t>(got);
    }
  }
  [[nodiscard]] std::int64_t bytes_read() const override { return bytes_read_; }

 private:
  std::string file_;
  int descriptor_ = -1;
  std::int64_t bytes_read_ = 0;
};

/// A program that packs files, known by their first bytes.
struct Packer {
  std::string_view magic;
  std::string_view name;
  std::string_view unpacks;  ///< Command that unpacks a file.
};
constexpr std::array kRefusedPackers = {
    Packer{"BZh", "bzip2", "bunzip2 -k"},
    Packer{std::string_view("\xfd\x37\x7a\x58\x5a\x00", 6), "xz", "unxz -k"},
    Packer{"\x04\x22\x4d\x18", "lz4", "unlz4"},
    Packer{"7z\xbc\xaf\x27\x1c", "7-Zip", "7z x"},
    Packer{"Rar!", "RAR", "unrar x"},
    Packer{"PK\x03\x04", "zip", "unzip"},
};

Packed packed_by(std::string_view begin, const std::string& file) {
  if (begin.starts_with("\x1f\x8b")) return Packed::gzip;
  if (begin.starts_with("\x28\xb5\x2f\xfd")) return Packed::zstd;
  // A skippable frame of zstd, which parallel packers write first.
  if (begin.size() >= 4 && (static_cast<unsigned char>(begin[0]) & 0xF0U) == 0x50 &&
      begin.substr(1, 3) == "\x2a\x4d\x18") {
    return Packed::zstd;
  }
  for (const Packer& packer : kRefusedPackers) {
    if (!begin.starts_with(packer.magic)) continue;
    throw BadRequest("data: " + file + " is packed by " + std::string(packer.name) +
                     ", which is not read here (gzip and zstd are): " +
                     std::string(packer.unpacks) + " " + file);
  }
  return Packed::no;
}

}  // namespace

Packed packed_form(const std::filesystem::path& file) {
  FileStream stream(file);
  std::array<char, 16> begin{};
  const std::size_t got = stream.read(begin);
  return packed_by({begin.data(), got}, file.string());
}

std::unique_ptr<ByteStream> open_byte_stream(const std::filesystem::path& file) {
  const Packed packed = packed_form(file);
  auto stream = std::make_unique<FileStream>(file);
  if (packed == Packed::gzip) return gzip_stream(std::move(stream), file.string());
  if (packed == Packed::zstd) return zstd_stream(std::move(stream), file.string());
  return stream;
}

}  // namespace sluice::engine
