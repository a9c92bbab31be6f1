// Lanes that read and write a file continuously, as those of a run do.
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

/// A file of whole pieces, written once, unlinked once it is open; past the page cache where the
/// file system allows it.
class ScratchFile {
 public:
  /// Creates a file of `size` in `folder` and writes it once. Throws EnvironmentError naming the
  /// folder and what the system said.
  ScratchFile(const std::filesystem::path& folder, Bytes size);
  ~ScratchFile();
  ScratchFile(const ScratchFile&) = delete;  // Owns the descriptor.
  ScratchFile& operator=(const ScratchFile&) = delete;

  [[nodiscard]] bool direct() const { return direct_; }
  [[nodiscard]] Bytes size() const;
  [[nodiscard]] int descriptor() const { return descriptor_; }
  /// Offset of the next piece to read or to write. Pieces follow each other through all parts of a
  /// probe, since a cache may hold what was just moved; readers begin half a file away.
  [[nodiscard]] std::int64_t next_offset(engine::Direction direction) const;
  /// Waits until the drive holds what was written, so that it does not slow the next part.
  void flush() const;
  [[noreturn]] void fail(const std::string& what) const;

 private:
  void fill();

  std::filesystem::path folder_;
  int descriptor_ = -1;
  bool direct_ = false;
  std::int64_t pieces_ = 1;
  mutable std::atomic<std::int64_t> read_{0}, written_{0};  ///< Pieces moved by all lanes so far.
};

using Directions = std::vector<engine::Direction>;

/// Samples of the bytes/s of all `directions` at once, with a lane each, over slices of the budget,
/// the first left out. `depth` is the number of blocks in flight in each direction.
[[nodiscard]] std::vector<Samples> rates_at_once(const ScratchFile& file,
                                                 const Directions& directions, unsigned depth,
                                                 Seconds budget, int slices);

}  // namespace sluice::profiler
