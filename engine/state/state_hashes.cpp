// Hashes of a trained state: first of pieces on all cores, then of the pieces' hashes, because
// SHA-256 is sequential.
#include <algorithm>
#include <array>
#include <atomic>
#include <mutex>
#include <thread>

#include "engine/model_files/state_pieces.hpp"
#include "engine/state/training_state.hpp"
#include "planner/effort/parallel_for.hpp"
#include "planner/files/hash.hpp"
#include "planner/requests/phase_memory.hpp"

namespace sluice::engine {
namespace {

/// A range of bytes of one plane of one unit.
struct Window {
  std::size_t unit;
  Plane plane;
  std::int64_t offset, bytes;
};

/// `planes` of every tensor of every unit in canonical order, without padding, in pieces.
std::vector<Window> windows_of(const planner::ModelShape& shape, planner::StateType type,
                               std::span<const Plane> planes) {
  std::vector<Window> windows;
  for (std::size_t unit = 0; unit < planner::unit_count(shape); ++unit) {
    for (const planner::TensorSpec& tensor : planner::unit_tensors(shape, unit).tensors) {
      for (const Plane plane : planes) {
        const PlaneSize size = plane_size(plane, type);
        const std::int64_t end = size.of(tensor.offset + tensor.size());
        for (std::int64_t at = size.before(tensor.offset); at < end;) {
          windows.push_back({unit, plane, at, std::min(kHashedPiece, end - at)});
          at += windows.back().bytes;
        }
      }
    }
  }
  return windows;
}

/// Threads that hash: all cores, as long as their pieces take no more memory than state_threads()
/// pieces of state do.
std::int64_t hashing_threads() {
  constexpr std::int64_t kMost =
      planner::kStateThreads * planner::kStatePiece * planner::kStatePieceBytes / kHashedPiece;
  return std::clamp<std::int64_t>(std::thread::hardware_concurrency(), 1, kMost);
}

using Digest = std::array<std::uint8_t, 32>;

std::string sha256_of(std::span<const Digest> digests) {
  return planner::Sha256().update(std::as_bytes(digests)).hex();
}

/// SHA-256 of every window. `hashed` is called with numbers of bytes, from one thread at a time.
std::vector<Digest> digests_of(const ReadPlane& read, const std::vector<Window>& windows,
                               const std::function<void(std::int64_t bytes)>& hashed) {
  std::vector<Digest> digests(windows.size());
  std::atomic<std::size_t> next{0};
  std::mutex mutex;
  const std::int64_t threads = hashing_threads();
  planner::parallel_for(static_cast<std::size_t>(threads), threads, [&](std::size_t) {
    std::vector<std::byte> memory(kHashedPiece);  // Each thread has its own.
    for (std::size_t i = next++; i < windows.size(); i = next++) {
      const Window& window = windows[i];
      const auto bytes = std::span(memory).first(static_cast<std::size_t>(window.bytes));
      read(window.unit, window.plane, window.offset, bytes);
      digests[i] = planner::Sha256().update(bytes).digest();
      const std::lock_guard lock(mutex);
      hashed(window.bytes);
    }
  });
  return digests;
}

ReadPlane planes_read_from(const TrainingState& state) {
  return [&state](std::size_t unit, Plane plane, std::int64_t offset, std::span<std::byte> out) {
    state.read_plane(unit, plane, offset, out);
  };
}

std::string hash_of(const TrainingState& state, const planner::ModelShape& shape,
                    std::span<const Plane> planes) {
  return sha256_of(digests_of(planes_read_from(state), windows_of(shape, state.type(), planes),
                              [](std::int64_t) {}));
}

}  // namespace

StateHashes hashes_of(const planner::ModelShape& shape, planner::StateType type,
                      const ReadPlane& read, const HashProgress& progress) {
  std::vector<Window> windows = windows_of(shape, type, kWeightPlanes);
  const std::size_t weights = windows.size();
  for (const Window& window : windows_of(shape, type, moment_planes_of(type)))
    windows.push_back(window);
  std::int64_t all = 0, done = 0;
  for (const Window& window : windows) all += window.bytes;
  const std::vector<Digest> digests = digests_of(read, windows, [&](std::int64_t bytes) {
    done += bytes;
    if (progress) progress(done, all);
  });
  const std::span<const Digest> hashed = digests;
  return {.weights = sha256_of(hashed.first(weights)),
          .moments = sha256_of(hashed.subspan(weights))};
}

StateHashes TrainingState::hashes(const HashProgress& progress) const {
  return hashes_of(shape_, type_, planes_read_from(*this), progress);
}

std::string TrainingState::weights_sha256() const { return hash_of(*this, shape_, kWeightPlanes); }

std::string TrainingState::state_sha256() const {
  return hash_of(*this, shape_, moment_planes_of(type_));
}

}  // namespace sluice::engine
