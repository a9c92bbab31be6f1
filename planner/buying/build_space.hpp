// Builds that can be ordered: one GPU or several, a CPU with its board, a memory kit and drives,
// with a price.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "planner/catalogue/several_gpus.hpp"
#include "planner/requests/prices.hpp"

namespace sluice::planner {

/// A build with its price. Where `lends_drives`, plans may keep state on its drives, for jobs whose
/// state has no room in host memory.
struct BuildOffer {
  Composition parts;  ///< Parts of the machine with one GPU on one socket.
  std::int64_t gpus = 1;
  double usd = 0;
  bool lends_drives = false;
  Bytes memory{0};                     ///< Host memory of all sockets.
  BytesPerSecond memory_rate{0};       ///< Peak rate of host memory (memory_peak).
  double cpu_rate = 0;                 ///< Parameters/s that all cores update (update_rate).
  int pcie = 0;                        ///< PCIe generation of CPU and board.
  std::int64_t lanes = 16;             ///< PCIe lanes of each GPU.
  Bytes drives{0};                     ///< Size of all drives together.
  BytesPerSecond drive_rate{0};        ///< Rated reads of all drives together.
  BytesPerSecond drive_write_rate{0};  ///< Writes of all drives together, as predictions have them.

  /// The build's name, as find_machine() takes it.
  [[nodiscard]] std::string name() const { return to_text(CountedParts{gpus, parts}); }
};

/// Whether each part of `more` is at least as good as that part of `less`, a build of the same GPU,
/// so that the job's step is at most as long on it.
[[nodiscard]] bool has_no_less(const BuildOffer& more, const BuildOffer& less);

/// The builds of one GPU, or of so many of one kind, on one CPU's board, cheapest first.
struct BuildGroup {
  std::string gpu;  ///< Name of the GPU with their number, such as "2x-rtx-4090".
  std::string cpu;
  std::vector<BuildOffer> offers;
};

/// The builds whose every part has a price in `prices`: each GPU, in each of the numbers `counts`,
/// on each board that takes it, with each kit and each set of drives (1, 2 or 4 of a kind) of which
/// no other of the board has as much for less. Builds that lend no drives have the cheapest drive
/// only; those of several GPUs lend none, and are those of which each GPU has at least eight PCIe
/// lanes.
[[nodiscard]] std::vector<BuildGroup> build_groups(const PriceList& prices,
                                                   const std::vector<std::int64_t>& counts = {1});

}  // namespace sluice::planner
