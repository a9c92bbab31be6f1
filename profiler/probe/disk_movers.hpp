// Lanes that read a file and write it for as long as it takes, as those of a run do.
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

/// A file of whole pieces, written once, past the page cache where the file system lets it be;
/// without a name once it is open.
class ScratchFile {
 public:
  /// Throws EnvironmentError naming the folder and what the system said.
  ScratchFile(const std::filesystem::path& folder, Bytes size);
  ~ScratchFile();
  ScratchFile(const ScratchFile&) = delete;  // Owns the descriptor.
  ScratchFile& operator=(const ScratchFile&) = delete;

  [[nodiscard]] bool direct() const { return direct_; }
  [[nodiscard]] Bytes size() const;
  [[nodiscard]] int descriptor() const { return descriptor_; }
  /// Of the next piece to read or to write, one behind the other through all parts of a probe:
  /// what was just moved may come from somebody's cache. Readers begin half a file away.
  [[nodiscard]] std::int64_t next_offset(engine::Way way) const;
  /// What earlier parts wrote is on the drive, and not in the way of the next one.
  void flush() const;
  [[noreturn]] void fail(const std::string& what) const;

 private:
  void fill();

  std::filesystem::path folder_;
  int descriptor_ = -1;
  bool direct_ = false;
  std::int64_t pieces_ = 1;
  mutable std::atomic<std::int64_t> read_{0}, written_{0};  ///< Pieces, by all lanes so far.
};

using Ways = std::vector<engine::Way>;

/// Bytes/s of all `ways` at once, a lane each, over slices of the budget, the first left out.
/// `depth`: blocks in flight each way.
[[nodiscard]] std::vector<Samples> rates_at_once(const ScratchFile& file, const Ways& ways,
                                                 unsigned depth, Seconds budget, int slices);

}  // namespace sluice::profiler
