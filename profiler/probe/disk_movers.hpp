// Lanes that read and write a file continuously, as the disk lanes of a run do.
#pragma once

#include <atomic>
#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "engine/disk/block_queue.hpp"
#include "profiler/probe/sampling.hpp"
#include "sim/units.hpp"

namespace sluice::profiler {

/// A file for timing, of whole pieces, which is written once and unlinked once it is open.
/// Transfers go past the page cache where the file system allows it (direct()).
class ScratchFile {
 public:
  /// Creates a file of `size` bytes in `folder` and writes it once. Throws EnvironmentError naming
  /// the folder and what the system said.
  ScratchFile(const std::filesystem::path& folder, Bytes size);
  ~ScratchFile();
  ScratchFile(const ScratchFile&) = delete;  // Owns the descriptor.
  ScratchFile& operator=(const ScratchFile&) = delete;

  [[nodiscard]] bool direct() const { return direct_; }
  [[nodiscard]] Bytes size() const;
  [[nodiscard]] int descriptor() const { return descriptor_; }
  /// Offset of the next piece to read or to write, by turns through the whole file. Pieces follow
  /// each other through all parts of a probe, since a cache may hold what was just moved; readers
  /// begin half a file away from writers.
  [[nodiscard]] std::int64_t next_offset(engine::Direction direction) const;
  /// Waits until the drive holds what was written, so that it does not slow the probe's next part.
  void flush() const;
  [[noreturn]] void fail(const std::string& what) const;

 private:
  void fill();

  std::filesystem::path folder_;
  int descriptor_ = -1;
  bool direct_ = false;
  std::int64_t pieces_ = 1;
  /// Number of pieces that all lanes have read, and have written, so far.
  mutable std::atomic<std::int64_t> read_{0}, written_{0};
};

using Directions = std::vector<engine::Direction>;

/// Samples of the bytes/s of each of `directions`, in their order, while all run at once with a
/// lane each: one sample for each of `slices` equal parts of `budget`, without the first. `depth`
/// is the number of blocks in flight in each direction.
[[nodiscard]] std::vector<Samples> rates_at_once(const ScratchFile& file,
                                                 const Directions& directions, unsigned depth,
                                                 Seconds budget, int slices);

}  // namespace sluice::profiler
