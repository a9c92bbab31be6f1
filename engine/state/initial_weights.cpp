#include <algorithm>
#include <atomic>
#include <mutex>
#include <numeric>
#include <optional>
#include <thread>
#include <vector>

#include "engine/model_files/state_pieces.hpp"
#include "engine/state/init.hpp"
#include "engine/state/training_state.hpp"
#include "planner/effort/parallel_for.hpp"
#include "planner/requests/phase_memory.hpp"

namespace sluice::engine {
namespace {

/// Normal values for one piece, which all pieces of all matrices share.
class RepeatedDraw {
 public:
  RepeatedDraw(const planner::ModelShape& shape, const StatePieces& pieces, std::uint64_t seed) {
    std::int64_t longest = 0;
    const planner::TensorSpec* matrix = nullptr;
    for (std::size_t i = 0; i < pieces.size(); ++i) {
      if (!pieces.tensor(pieces[i]).decays) continue;
      longest = std::max(longest, pieces[i].elements);
      matrix = &pieces.tensor(pieces[i]);
    }
    if (matrix == nullptr) return;
    high_.resize(static_cast<std::size_t>(longest + kShifts));
    low_.resize(high_.size());
    initialize_range(shape, *matrix, seed, 0, high_, low_);
  }
  [[nodiscard]] std::span<const std::uint16_t> high(std::size_t piece, std::size_t count) const {
    return std::span(high_).subspan(start(piece), count);
  }
  [[nodiscard]] std::span<const std::uint16_t> low(std::size_t piece, std::size_t count) const {
    return std::span(low_).subspan(start(piece), count);
  }

 private:
  /// Number of shifts, a prime: otherwise rows, whose lengths are powers of two, would be equal in
  /// all pieces.
  static constexpr std::int64_t kShifts = 8191;
  static std::size_t start(std::size_t piece) {
    constexpr std::size_t kApart = 977;
    return piece * kApart % kShifts;
  }
  std::vector<std::uint16_t> high_, low_;
};

/// Memory of the threads that generate weights, from which devices copy fastest: both halves of a
/// piece for each. All of it is no more than that of the threads that load a state.
class PieceBuffers {
 public:
  PieceBuffers(const TrainingState& state, const StatePieces& pieces)
      : threads_(std::clamp<std::size_t>(
            std::min<std::size_t>(std::thread::hardware_concurrency(), pieces.size()), 1,
            kStateBytes / kPieceBytes)),
        memory_(
            state.memory_to_read_into(Bytes(static_cast<std::int64_t>(threads_ * kPieceBytes)))) {}
  [[nodiscard]] std::size_t size() const { return threads_; }
  struct Halves {
    std::span<std::uint16_t> high, low;
  };
  [[nodiscard]] Halves halves(std::size_t thread, std::size_t elements) const {
    auto* const high = reinterpret_cast<std::uint16_t*>(memory_.get() + thread * kPieceBytes);
    return {{high, elements}, {high + planner::kStatePiece, elements}};
  }

 private:
  static constexpr std::size_t kPieceBytes = 2 * sizeof(std::uint16_t) * planner::kStatePiece;
  static constexpr std::size_t kStateBytes =
      planner::kStateThreads * planner::kStatePiece * planner::kStatePieceBytes;
  std::size_t threads_;
  std::shared_ptr<std::byte> memory_;
};

/// Pieces dealt to threads, neighbours far apart, so that several ranks' devices are written to at
/// a time; and the number of elements that are done.
class PieceCount {
 public:
  PieceCount(const StatePieces& pieces, const StateProgress& progress)
      : pieces_(pieces), progress_(progress), step_(pieces.size() * 2 / 3) {
    while (step_ > 1 && std::gcd(step_, pieces.size()) != 1) --step_;
  }
  /// Index of a piece that no other thread has; none when all are dealt.
  std::optional<std::size_t> take() {
    const std::size_t number = next_++;
    if (number >= pieces_.size()) return std::nullopt;
    return number * std::max<std::size_t>(step_, 1) % pieces_.size();
  }
  void add(std::int64_t elements) {
    const std::lock_guard lock(mutex_);
    done_ += elements;
    if (progress_) progress_(done_, pieces_.elements());
  }

 private:
  const StatePieces& pieces_;
  const StateProgress& progress_;
  std::size_t step_;
  std::atomic<std::size_t> next_{0};
  std::mutex mutex_;
  std::int64_t done_ = 0;
};

}  // namespace

void TrainingState::initialize(const InitialWeights& weights) {
  clear_moments_in_memory();
  clear_moments_on_disk();
  for (std::size_t unit = 0; unit < slices_.size(); ++unit) clear_padding(unit);
  const StatePieces pieces(shape_, {StatePart::weights});
  std::optional<RepeatedDraw> draw;
  if (weights.repeated) draw.emplace(shape_, pieces, weights.seed);
  const PieceBuffers buffers(*this, pieces);
  PieceCount count(pieces, weights.progress);
  planner::parallel_for(buffers.size(), std::ssize(buffers), [&](std::size_t worker) {
    while (const auto i = count.take()) {
      const StatePiece& piece = pieces[*i];
      const planner::TensorSpec& tensor = pieces.tensor(piece);
      const std::int64_t offset = tensor.offset + piece.first;
      const auto elements = static_cast<std::size_t>(piece.elements);
      if (!holds(piece.unit, offset, piece.elements)) {
        count.add(piece.elements);
        continue;
      }
      const auto [high, low] = buffers.halves(worker, elements);
      if (draw && tensor.decays) {
        std::ranges::copy(draw->high(*i, elements), high.begin());
        std::ranges::copy(draw->low(*i, elements), low.begin());
      } else {
        initialize_range(shape_, tensor, weights.seed, piece.first, high, low);
      }
      write_halves(piece.unit, offset, high, low);
      count.add(piece.elements);
    }
  });
}

}  // namespace sluice::engine
