// Where the 12 bytes a parameter of a run lie, and what can be done with all of them at once.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "engine/disk/disk_store.hpp"
#include "engine/execution/device.hpp"
#include "engine/model_files/state_source.hpp"
#include "planner/graph/step_graph.hpp"
#include "planner/models/shape.hpp"

namespace sluice::engine {

struct StatePiece;

/// One unit's planes: uint16 high and low halves, fp32 moments.
enum class Plane { high, low, m, v };
inline constexpr std::array kPlanes = {Plane::high, Plane::low, Plane::m, Plane::v};
[[nodiscard]] constexpr std::int64_t element_bytes(Plane plane) {
  return plane == Plane::high || plane == Plane::low ? 2 : 4;
}

/// Addresses of one unit's planes and moments in the arenas: [padded] elements each; null for what
/// lives on the disk.
struct UnitState {
  std::byte* high = nullptr;  ///< uint16
  std::byte* low = nullptr;   ///< uint16
  std::byte* m = nullptr;     ///< fp32
  std::byte* v = nullptr;     ///< fp32
  /// Copy of the high halves (fp32 compute: the low ones follow) that stays on the device beside a
  /// master on the host, or null.
  std::byte* copy = nullptr;
  Bytes copy_bytes{0};
};

/// Where random weights start.
struct InitialWeights {
  /*implicit*/ InitialWeights(std::uint64_t seed, bool repeated = false)
      : seed(seed), repeated(repeated) {}
  std::uint64_t seed;
  /// Every matrix starts with the same values, over and over: for measurements, which only need
  /// random ones and would wait for the generator longer than they run.
  bool repeated;
};

/// State that was kept elsewhere: a model folder, which has no moments, or a checkpoint.
struct LoadedState {
  enum class Moments { zero, loaded };
  const StateSource& source;
  Moments moments = Moments::zero;
  /// Elements read of all; called from one thread at a time. May be empty.
  std::function<void(std::int64_t done, std::int64_t all)> progress = nullptr;
};

/// Of the pieces that a state's hashes are made of.
inline constexpr std::int64_t kHashedPiece = std::int64_t{4} << 20;

/// What identifies a trained state (docs/numerics.md).
struct StateHashes {
  std::string weights, moments;  ///< 64 hexadecimal digits each.
};
/// Bytes hashed of all; called from one thread at a time. May be empty.
using HashProgress = std::function<void(std::int64_t done, std::int64_t all)>;

/// The state of a step graph's units, where it lives between steps. Use it only while no step runs.
class TrainingState : public StateSource {
 public:
  /// `disk`: null where no state lives there.
  TrainingState(const planner::ModelShape& shape, const planner::StepGraph& graph, Device& device,
                DiskStore* disk = nullptr);

  /// Initial weights of `seed` (engine/state/init.hpp); m and v zero.
  void initialize(const InitialWeights& weights);
  /// Reads piece by piece on all cores, straight to where the state lives: besides it there is
  /// never more than a piece a thread. Throws what the source throws.
  void load(const LoadedState& from);
  /// Both halves of one unit's master weights, [padded] each, wherever copies of them stay.
  void write_weights(std::size_t unit, std::span<const std::uint16_t> high,
                     std::span<const std::uint16_t> low);
  /// SHA-256 of the SHA-256 digests of pieces of at most kHashedPiece bytes, over units and tensors
  /// in canonical order, padding left out: of every tensor the high halves, then the low halves
  /// (docs/numerics.md).
  [[nodiscard]] std::string weights_sha256() const;
  /// Likewise: of every tensor m, then v.
  [[nodiscard]] std::string state_sha256() const;
  /// Both, on state_threads().
  [[nodiscard]] StateHashes hashes(const HashProgress& progress = nullptr) const;

  /// Of this state, as its devices hold it.
  void read(StatePart part, std::size_t unit, const planner::TensorSpec& tensor, std::int64_t first,
            std::span<float> out) const override;

  /// Host memory that `read_plane` fills quickest; the device must outlive it.
  [[nodiscard]] std::shared_ptr<std::byte> memory_to_read_into(Bytes bytes) const {
    return device_.memory_to_read_into(bytes);
  }
  /// Bytes from `offset` of one of a unit's planes, from several threads at a time.
  void read_plane(std::size_t unit, Plane plane, std::int64_t offset,
                  std::span<std::byte> out) const;

 private:
  [[nodiscard]] std::byte* address(std::size_t unit, Plane plane) const;
  void write_plane(std::size_t unit, Plane plane, std::int64_t offset,
                   std::span<const std::byte> in);
  void clear_moments_in_memory();
  void clear_moments_on_disk();
  [[nodiscard]] std::int64_t moment_bytes(std::size_t unit) const;
  void clear_padding(std::size_t unit);
  void write_piece(const StatePiece& piece, std::int64_t offset, std::span<const float> values);
  /// Elements from `offset` of a unit's planes, [padded] each, wherever copies of them stay.
  void write_halves(std::size_t unit, std::int64_t offset, std::span<const std::uint16_t> high,
                    std::span<const std::uint16_t> low);

  planner::ModelShape shape_;
  Device& device_;
  DiskStore* disk_;
  std::vector<UnitState> units_;
};

}  // namespace sluice::engine
