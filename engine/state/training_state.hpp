// The state of a run, 12 bytes per parameter or, with smaller moments, 8 or 6: where it lies, and
// operations on all of it.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "engine/disk/disk_store.hpp"
#include "engine/execution/device.hpp"
#include "engine/model_files/state_source.hpp"
#include "engine/state/plane.hpp"
#include "planner/graph/step_graph.hpp"
#include "planner/models/shape.hpp"

namespace sluice::engine {

/// Addresses of a unit's planes in the arenas of one rank, [slice] elements each: its parameters
/// with padding, or with several ranks the rank's slice of them (planner/models/slices.hpp); null
/// for planes on the disk.
struct UnitState {
  std::byte* high = nullptr;  ///< High halves, uint16.
  std::byte* low = nullptr;   ///< Low halves, uint16.
  std::byte* m = nullptr;     ///< First moments; in int8, codes with their scales behind them.
  std::byte* v = nullptr;     ///< Second moments, as the first.
  std::int64_t elements = 0;  ///< Elements of every plane.
  /// High halves of all slices, or of the rank's own, that stay on the device beside the masters of
  /// one slice, or while the masters are on the host; or null. With fp32 compute the low halves
  /// follow in it.
  std::byte* copy = nullptr;
  Bytes copy_bytes{0};
  /// Elements of the unit's vector that `copy` has: [copy_first, copy_first + copy_count).
  std::int64_t copy_first = 0, copy_count = 0;

  /// Address of a plane; null where it is on the disk.
  [[nodiscard]] std::byte* at(Plane plane) const;
};

/// Called with the number of elements written so far and of all, from one thread at a time. May be
/// empty.
using StateProgress = std::function<void(std::int64_t done, std::int64_t all)>;

/// How random initial weights are generated.
struct InitialWeights {
  /*implicit*/ InitialWeights(std::uint64_t seed, bool repeated = false,
                              StateProgress progress = nullptr)
      : seed(seed), repeated(repeated), progress(std::move(progress)) {}
  std::uint64_t seed;
  /// Whether every matrix repeats one short sequence of random values: for measurements, which need
  /// only random weights and would otherwise wait longer for the generator than they run.
  bool repeated;
  StateProgress progress;
};

/// State to load from `source`: a model folder, which has no moments (they become zero), or a
/// checkpoint, whose moments are loaded.
struct LoadedState {
  enum class Moments { zero, loaded };
  const StateSource& source;
  Moments moments = Moments::zero;
  StateProgress progress = nullptr;
};

/// Size of the pieces that a state's hashes are made of, in bytes.
inline constexpr std::int64_t kHashedPiece = std::int64_t{4} << 20;

/// Hashes that identify a trained state (docs/numerics.md).
struct StateHashes {
  std::string weights, moments;  ///< SHA-256 as 64 hexadecimal digits each.
};
/// Called with the number of bytes hashed so far and of all, from one thread at a time. May be
/// empty.
using HashProgress = std::function<void(std::int64_t done, std::int64_t all)>;
/// Reads out.size() bytes from byte `offset` of one of a unit's planes on; called from several
/// threads at a time.
using ReadPlane =
    std::function<void(std::size_t unit, Plane plane, std::int64_t offset, std::span<std::byte>)>;
/// Hashes of the state of `shape`, with moments of this type, whose planes `read` reads; see
/// TrainingState::hashes.
[[nodiscard]] StateHashes hashes_of(const planner::ModelShape& shape, planner::StateType type,
                                    const ReadPlane& read, const HashProgress& progress = nullptr);

/// A rank whose slices of the state are in this process: its device, and its disk file, which is
/// null if no state lies on the disk.
struct HeldRank {
  int rank = 0;
  Device* device = nullptr;
  DiskStore* disk = nullptr;
};

/// The state of a step graph's units in the arenas and on the disk, as vectors of whole units: of
/// all ranks, or of those whose slices are in this process. Slices of other ranks cannot be read,
/// and what would be written to them is left out. Use it only while no step runs.
class TrainingState : public StateSource {
 public:
  /// `disk` is null if no state lies on the disk.
  TrainingState(const planner::ModelShape& shape, const planner::StepGraph& graph, Device& device,
                DiskStore* disk = nullptr);
  /// State of a graph of several ranks, of which `held` are in this process.
  TrainingState(const planner::ModelShape& shape, const planner::StepGraph& graph,
                const std::vector<HeldRank>& held);

  /// Sets the initial weights (engine/state/init.hpp) and zeroes m and v.
  void initialize(const InitialWeights& weights);
  /// Loads the state piece by piece on all cores, directly to where it lies; besides the state, at
  /// most one piece per thread is in memory. Moments that the state's type does not have are
  /// rounded to the nearest that it has. Throws what the source throws.
  void load(const LoadedState& from);
  /// Writes both halves of one unit's master weights, [padded] each, to the state and to every copy
  /// of them.
  void write_weights(std::size_t unit, std::span<const std::uint16_t> high,
                     std::span<const std::uint16_t> low);
  /// SHA-256 that identifies the weights: the hash of the SHA-256 digests of pieces of at most
  /// kHashedPiece bytes, over units and tensors in canonical order without padding; for every
  /// tensor first the high halves, then the low halves (docs/numerics.md).
  [[nodiscard]] std::string weights_sha256() const;
  /// SHA-256 that identifies the moments: computed as weights_sha256 is, over m and then v of every
  /// tensor and, in int8, then the scales of the blocks that the tensor is in, of m and of v.
  [[nodiscard]] std::string state_sha256() const;
  /// Both hashes, weights_sha256() and state_sha256(), computed on all cores, or on fewer so that
  /// their pieces take no more memory than those of planner::kStateThreads threads that load a
  /// state.
  [[nodiscard]] StateHashes hashes(const HashProgress& progress = nullptr) const;

  /// Reads master weights or moments of one tensor as fp32, elements `first` to first + out.size()
  /// - 1, from wherever they lie.
  void read(StatePart part, std::size_t unit, const planner::TensorSpec& tensor, std::int64_t first,
            std::span<float> out) const override;

  /// Host memory that `read_plane` fills fastest; the device must outlive it.
  [[nodiscard]] std::shared_ptr<std::byte> memory_to_read_into(Bytes bytes) const {
    return held_.front().place.device->memory_to_read_into(bytes);
  }
  /// Type of the moments.
  [[nodiscard]] planner::StateType type() const { return type_; }
  /// Number of ranks that the state is cut among, and elements of each one's slice of a unit.
  [[nodiscard]] std::int64_t ranks() const { return ranks_; }
  [[nodiscard]] std::int64_t slice(std::size_t unit) const { return slices_[unit]; }
  /// Reads out.size() bytes from byte `offset` of one of a unit's planes on. May be called from
  /// several threads at a time. Second moments that a unit has no room for, those of Muon's
  /// matrices, read as zero.
  void read_plane(std::size_t unit, Plane plane, std::int64_t offset,
                  std::span<std::byte> out) const;

 private:
  /// Second moments of one tensor in a unit that has room for some tensors' alone: elements
  /// [begin, end) of the plane, which lie from element `at` of that room on.
  struct SecondRange {
    std::int64_t begin, end, at;
  };
  /// Calls `visit(at, begin, bytes)` for each range of second moments that bytes `offset` to
  /// offset + bytes - 1 of the plane lie in: at byte `at` of the room, `begin` within the bytes.
  template <class Visit>
  void for_second(std::size_t unit, std::int64_t offset, std::int64_t bytes,
                  const Visit& visit) const;
  /// Whether the unit has room for the second moments of some tensors alone.
  [[nodiscard]] bool lacks_second(std::size_t unit) const { return !second_[unit].empty(); }

  /// What one rank holds of all units.
  struct Holding {
    HeldRank place;
    std::vector<UnitState> units;
  };
  /// Finds the units that have room for the second moments of some tensors alone.
  void find_second(const planner::StepGraph& graph);
  [[nodiscard]] Holding holding_of(const planner::StepGraph& graph, const HeldRank& held) const;
  /// The rank's holding; null if it is not in this process.
  [[nodiscard]] const Holding* holding(std::int64_t rank) const;
  /// Calls `visit(holding, offset, begin, bytes)` for each slice of a plane that bytes `offset` to
  /// offset + bytes - 1 of the plane lie in: `offset` within the slice, `begin` within the bytes.
  /// `holding` is null for ranks of other processes.
  template <class Visit>
  void for_slices(std::size_t unit, Plane plane, std::int64_t offset, std::int64_t bytes,
                  const Visit& visit) const;
  /// Whether writes to `count` elements of a unit from element `first` on reach a rank held here.
  [[nodiscard]] bool holds(std::size_t unit, std::int64_t first, std::int64_t count) const;
  void write_plane(std::size_t unit, Plane plane, std::int64_t offset,
                   std::span<const std::byte> in);
  void clear_moments_in_memory();
  void clear_moments_on_disk();
  void load_weights(const LoadedState& from, const StateProgress& loaded);
  void load_moments(const LoadedState& from, const StateProgress& loaded);
  [[nodiscard]] std::int64_t moment_bytes(std::size_t unit, Plane plane) const;
  void clear_padding(std::size_t unit);
  void write_masters(std::size_t unit, std::int64_t offset, std::span<const float> values);
  /// Writes high.size() elements of a unit's halves, from element `offset` on, to the state and to
  /// every copy of them.
  void write_halves(std::size_t unit, std::int64_t offset, std::span<const std::uint16_t> high,
                    std::span<const std::uint16_t> low);

  planner::ModelShape shape_;
  planner::StateType type_;
  std::int64_t ranks_;
  std::vector<std::int64_t> slices_;  ///< Elements of a rank's slice, by unit.
  /// Ranges of second moments, by unit; empty for units that have those of all tensors.
  std::vector<std::vector<SecondRange>> second_;
  std::vector<Holding> held_;  ///< In ascending order of ranks.
};

}  // namespace sluice::engine
