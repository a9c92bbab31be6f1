// Writer of TensorBoard's event files.
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
  std::string_view tag;  ///< Name of the value, such as "train/loss".
  double value = 0;      ///< Value, stored as fp32.
};

/// A file events.out.tfevents.TIME.HOST.PID: TFRecords (length, masked CRC-32C of it, event, masked
/// CRC-32C of it; tensorflow/core/lib/io/record_writer.cc) of Event protocol buffers
/// (tensorflow/core/util/event.proto), encoded by hand.
class EventFile {
 public:
  /// Path of a new event file in `folder`, named after the second, host and process, so that no
  /// other process and no earlier second has produced it.
  [[nodiscard]] static std::filesystem::path fresh_path(const std::filesystem::path& folder);

  /// Creates the file and its folder. TensorBoard ignores what earlier files in the folder say
  /// about steps from `first_step` on. Throws EnvironmentError.
  EventFile(std::filesystem::path path, std::int64_t first_step);

  /// Appends one event with the finite ones of `scalars`; charts have no place for others. Throws
  /// EnvironmentError if the disk refuses.
  void append(std::int64_t step, std::span<const Scalar> scalars);

 private:
  void write_record(const std::string& event);

  std::filesystem::path path_;
  planner::FileDescriptor file_;
};

}  // namespace sluice::engine
