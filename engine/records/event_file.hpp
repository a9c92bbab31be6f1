// TensorBoard's event files.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "planner/files/file_descriptor.hpp"

namespace sluice::engine {

/// CRC-32C (Castagnoli: RFC 3720, appendix B.4) of `bytes`.
[[nodiscard]] std::uint32_t crc32c(std::string_view bytes);

struct Scalar {
  std::string_view tag;  ///< "train/loss"
  double value = 0;      ///< Kept as fp32.
};

/// events.out.tfevents.TIME.HOST.PID: TFRecords (length, masked CRC-32C of it, event, masked
/// CRC-32C of it; tensorflow/core/lib/io/record_writer.cc) of Event protocol buffers
/// (tensorflow/core/util/event.proto), encoded by hand.
class EventFile {
 public:
  /// A name in `folder` that no other process and no other second has.
  [[nodiscard]] static std::filesystem::path fresh_path(const std::filesystem::path& folder);

  /// A new file, whose folder is made. TensorBoard drops what earlier files of the folder say of
  /// steps from `first_step` on. Throws EnvironmentError.
  EventFile(std::filesystem::path path, std::int64_t first_step);

  /// One event with `scalars`; those that are not finite are left out, for charts have no place for
  /// them. Throws EnvironmentError where the disk refuses.
  void append(std::int64_t step, std::span<const Scalar> scalars);

 private:
  void write_record(const std::string& event);

  std::filesystem::path path_;
  planner::FileDescriptor file_;
};

}  // namespace sluice::engine
