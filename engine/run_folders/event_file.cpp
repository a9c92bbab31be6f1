#include "engine/run_folders/event_file.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <bit>
#include <cerrno>
#include <chrono>
#include <cmath>
#include <cstring>
#include <utility>

namespace sluice::engine {
namespace {

// Field numbers of the protocol buffers.
constexpr int kWallTime = 1, kStep = 2, kFileVersion = 3, kSummary = 5, kSessionLog = 7;  // Event
constexpr int kStatus = 1;  // SessionLog
constexpr int kStatusStart = 1;
constexpr int kValue = 1;                  // Summary
constexpr int kTag = 1, kSimpleValue = 2;  // Summary.Value

/// A protocol buffer being written (protobuf.dev/programming-guides/encoding).
class Message {
 public:
  Message& number(int field, std::uint64_t value) {
    varint(static_cast<std::uint64_t>(field) << 3);
    varint(value);
    return *this;
  }
  Message& fixed64(int field, double value) {
    varint(static_cast<std::uint64_t>(field) << 3 | 1);
    little_endian(std::bit_cast<std::uint64_t>(value), 8);
    return *this;
  }
  Message& fixed32(int field, float value) {
    varint(static_cast<std::uint64_t>(field) << 3 | 5);
    little_endian(std::bit_cast<std::uint32_t>(value), 4);
    return *this;
  }
  Message& text(int field, std::string_view value) {
    varint(static_cast<std::uint64_t>(field) << 3 | 2);
    varint(value.size());
    bytes_.append(value);
    return *this;
  }
  /// Appends an integer without tag, as TFRecord frames have them.
  void little_endian(std::uint64_t value, int bytes) {
    for (int i = 0; i < bytes; ++i) bytes_ += static_cast<char>(value >> (8 * i) & 0xff);
  }
  [[nodiscard]] const std::string& bytes() const { return bytes_; }

 private:
  void varint(std::uint64_t value) {
    for (; value >= 0x80; value >>= 7) bytes_ += static_cast<char>((value & 0x7f) | 0x80);
    bytes_ += static_cast<char>(value);
  }
  std::string bytes_;
};

constexpr std::array<std::uint32_t, 256> crc_table() {
  constexpr std::uint32_t kReversedPolynomial = 0x82f63b78;
  std::array<std::uint32_t, 256> table{};
  for (std::uint32_t i = 0; i < table.size(); ++i) {
    std::uint32_t value = i;
    for (int bit = 0; bit < 8; ++bit) {
      value = (value & 1) != 0 ? value >> 1 ^ kReversedPolynomial : value >> 1;
    }
    table[i] = value;
  }
  return table;
}

/// TFRecord's masked checksum, rotated and shifted because a checksum of data that contain
/// checksums is weak.
std::uint32_t masked_crc(std::string_view bytes) {
  constexpr std::uint32_t kMaskDelta = 0xa282ead8;
  return std::rotr(crc32c(bytes), 15) + kMaskDelta;
}

Message event_now() {
  const std::chrono::duration<double> now = std::chrono::system_clock::now().time_since_epoch();
  Message event;
  event.fixed64(kWallTime, now.count());
  return event;
}

}  // namespace

std::uint32_t crc32c(std::string_view bytes) {
  static constexpr std::array<std::uint32_t, 256> kTable = crc_table();
  std::uint32_t crc = 0xffffffff;
  for (const char byte : bytes) {
    crc = kTable[(crc ^ static_cast<unsigned char>(byte)) & 0xff] ^ crc >> 8;
  }
  return ~crc;
}

std::filesystem::path EventFile::fresh_path(const std::filesystem::path& folder) {
  const auto now = std::chrono::duration_cast<std::chrono::seconds>(
      std::chrono::system_clock::now().time_since_epoch());
  char host[256] = "host";
  if (gethostname(host, sizeof host - 1) != 0) std::strcpy(host, "host");
  return folder / ("events.out.tfevents." + std::to_string(now.count()) + "." + host + "." +
                   std::to_string(getpid()));
}

EventFile::EventFile(std::filesystem::path path, std::int64_t first_step)
    : path_(std::move(path)), file_(path_, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC) {
  write_record(event_now().text(kFileVersion, "brain.Event:2").bytes());
  Message start;
  start.number(kStatus, kStatusStart);
  write_record(event_now()
                   .number(kStep, static_cast<std::uint64_t>(first_step))
                   .text(kSessionLog, start.bytes())
                   .bytes());
}

void EventFile::append(std::int64_t step, std::span<const Scalar> scalars) {
  Message summary;
  for (const Scalar& scalar : scalars) {
    const auto narrow = static_cast<float>(scalar.value);
    if (!std::isfinite(narrow)) continue;
    Message value;
    value.text(kTag, scalar.tag).fixed32(kSimpleValue, narrow);
    summary.text(kValue, value.bytes());
  }
  write_record(event_now()
                   .number(kStep, static_cast<std::uint64_t>(step))
                   .text(kSummary, summary.bytes())
                   .bytes());
}

void EventFile::write_record(const std::string& event) {
  Message record;
  record.little_endian(event.size(), 8);
  const std::uint32_t length_crc = masked_crc(record.bytes());
  record.little_endian(length_crc, 4);
  std::string bytes = record.bytes() + event;
  Message end;
  end.little_endian(masked_crc(event), 4);
  bytes += end.bytes();
  for (std::string_view left = bytes; !left.empty();) {
    const ssize_t written = ::write(file_.get(), left.data(), left.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) file_.fail("cannot write");
    left.remove_prefix(static_cast<std::size_t>(written));
  }
}

}  // namespace sluice::engine
