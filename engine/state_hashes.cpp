// Hashes of a trained state: SHA-256 takes one byte after the other, so that all there is to gain
// is that nothing else stands in its way.
#include <algorithm>
#include <array>
#include <future>
#include <mutex>

#include "engine/training_state.hpp"
#include "planner/hash.hpp"
#include "planner/parallel_for.hpp"

namespace sluice::engine {
namespace {

constexpr std::int64_t kWindowBytes = std::int64_t{4} << 20;
constexpr std::array kWeights = {Plane::high, Plane::low};
constexpr std::array kMoments = {Plane::m, Plane::v};

/// Bytes of one plane of one unit.
struct Window {
  std::size_t unit;
  Plane plane;
  std::int64_t offset, bytes;
};

/// `planes` of every tensor of every unit in canonical order, without padding.
std::vector<Window> windows_of(const planner::ModelShape& shape, std::span<const Plane> planes) {
  std::vector<Window> windows;
  for (std::size_t unit = 0; unit < planner::unit_count(shape); ++unit) {
    for (const planner::TensorSpec& tensor : planner::unit_tensors(shape, unit).tensors) {
      for (const Plane plane : planes) {
        const std::int64_t end = element_bytes(plane) * (tensor.offset + tensor.size());
        for (std::int64_t at = element_bytes(plane) * tensor.offset; at < end;) {
          windows.push_back({unit, plane, at, std::min(kWindowBytes, end - at)});
          at += windows.back().bytes;
        }
      }
    }
  }
  return windows;
}

/// SHA-256 over `windows`, the next one being read while one is hashed. `hashed` is told of bytes.
std::string sha256_of(const TrainingState& state, const std::vector<Window>& windows,
                      const std::function<void(std::int64_t bytes)>& hashed) {
  std::array<std::vector<std::byte>, 2> buffers;
  for (std::vector<std::byte>& buffer : buffers) buffer.resize(kWindowBytes);
  const auto bytes_of = [&](std::size_t i) {
    return std::span(buffers[i % 2]).first(static_cast<std::size_t>(windows[i].bytes));
  };
  const auto read = [&](std::size_t i) {
    const Window& window = windows[i];
    state.read_plane(window.unit, window.plane, window.offset, bytes_of(i));
  };
  planner::Sha256 sha;
  std::future<void> next = std::async(std::launch::async, read, 0);
  for (std::size_t i = 0; i < windows.size(); ++i) {
    next.get();
    if (i + 1 < windows.size()) next = std::async(std::launch::async, read, i + 1);
    sha.update(bytes_of(i));
    hashed(windows[i].bytes);
  }
  return sha.hex();
}

}  // namespace

StateHashes TrainingState::hashes(const HashProgress& progress) const {
  const std::array parts = {windows_of(shape_, kWeights), windows_of(shape_, kMoments)};
  std::int64_t all = 0;
  for (const std::vector<Window>& windows : parts) {
    for (const Window& window : windows) all += window.bytes;
  }
  std::mutex mutex;
  std::int64_t done = 0;
  std::array<std::string, parts.size()> hex;
  planner::parallel_for(parts.size(), std::ssize(parts), [&](std::size_t i) {
    hex[i] = sha256_of(*this, parts[i], [&](std::int64_t bytes) {
      const std::lock_guard lock(mutex);
      done += bytes;
      if (progress) progress(done, all);
    });
  });
  return {.weights = hex[0], .moments = hex[1]};
}

std::string TrainingState::weights_sha256() const {
  return sha256_of(*this, windows_of(shape_, kWeights), [](std::int64_t) {});
}

std::string TrainingState::state_sha256() const {
  return sha256_of(*this, windows_of(shape_, kMoments), [](std::int64_t) {});
}

}  // namespace sluice::engine
