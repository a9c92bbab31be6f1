#include "engine/state/init.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <numbers>
#include <string_view>

#include "engine/optimizer/master_weights.hpp"
#include "engine/state/normal_batch.hpp"

namespace sluice::engine {
namespace {

using Block = std::array<std::uint32_t, 4>;

/// Ten rounds of Philox4x32 with the paper's multipliers and Weyl increments.
Block philox(Block counter, std::uint32_t key0, std::uint32_t key1) {
  for (int round = 0; round < 10; ++round) {
    const std::uint64_t a = std::uint64_t{0xD2511F53u} * counter[0];
    const std::uint64_t b = std::uint64_t{0xCD9E8D57u} * counter[2];
    counter = {
        static_cast<std::uint32_t>(b >> 32) ^ counter[1] ^ key0, static_cast<std::uint32_t>(b),
        static_cast<std::uint32_t>(a >> 32) ^ counter[3] ^ key1, static_cast<std::uint32_t>(a)};
    key0 += 0x9E3779B9u;
    key1 += 0xBB67AE85u;
  }
  return counter;
}

/// Uniform in (0, 1), 53 bits.
double uniform(std::uint32_t high, std::uint32_t low) {
  const std::uint64_t bits = (std::uint64_t{high} << 32 | low) >> 11;
  return (static_cast<double>(bits) + 0.5) * 0x1p-53;
}

struct NormalPair {
  double even, odd;
};

/// Bits of the element `index` of a stream.
Block bits_at(std::uint64_t seed, std::uint64_t stream, std::uint64_t index) {
  return philox({static_cast<std::uint32_t>(index), static_cast<std::uint32_t>(index >> 32),
                 static_cast<std::uint32_t>(stream), static_cast<std::uint32_t>(stream >> 32)},
                static_cast<std::uint32_t>(seed), static_cast<std::uint32_t>(seed >> 32));
}

/// Element `index` of a stream of numbers between 0 and 1.
double uniform_at(std::uint64_t seed, std::uint64_t stream, std::uint64_t index) {
  const Block bits = bits_at(seed, stream, index);
  return uniform(bits[0], bits[1]);
}

/// Value of all elements of a tensor that is no matrix: norms multiply by 1, a gated delta net's
/// decays are of one size.
double first_value(const planner::ModelShape& shape, planner::TensorRole role) {
  using enum planner::TensorRole;
  if (role == delta_norm || role == delta_time_bias) return 1;
  return planner::is_norm(role) && !shape.norms.one_plus_weight ? 1 : 0;
}

/// Elements 2 * pair and 2 * pair + 1 of a stream, by the Box-Muller transform.
NormalPair normal_pair(std::uint64_t seed, std::uint64_t stream, std::uint64_t pair) {
  const Block bits = bits_at(seed, stream, pair);
  const double radius = std::sqrt(-2 * std::log(uniform(bits[0], bits[1])));
  const double angle = 2 * std::numbers::pi * uniform(bits[2], bits[3]);
  return {radius * std::cos(angle), radius * std::sin(angle)};
}

/// Element `index` of a stream, before it is multiplied by the standard deviation.
double normal_of(const NormalStream& stream, std::uint64_t index) {
  const NormalPair pair = normal_pair(stream.seed, stream.stream, index / 2);
  return index % 2 == 0 ? pair.even : pair.odd;
}

}  // namespace

std::uint64_t normal_stream(std::string_view name) {
  std::uint64_t hash = 0xcbf29ce484222325u;
  for (const char letter : name) {
    hash = (hash ^ static_cast<unsigned char>(letter)) * 0x100000001b3u;
  }
  return hash;
}

double normal_at(std::uint64_t seed, const char* name, std::uint64_t index) {
  return normal_of({seed, normal_stream(name), 1}, index);
}

void initialize_range(const planner::ModelShape& shape, const planner::TensorSpec& tensor,
                      std::uint64_t seed, std::int64_t first, std::span<std::uint16_t> high,
                      std::span<std::uint16_t> low) {
  const auto set = [&](std::int64_t index, double value) {
    const SplitMaster halves = split_master(static_cast<float>(value));
    high[static_cast<std::size_t>(index - first)] = halves.high;
    low[static_cast<std::size_t>(index - first)] = halves.low;
  };
  const std::int64_t end = first + std::ssize(high);
  if (tensor.role == planner::TensorRole::delta_log_rate) {
    // Rates between 0.01 and 16, as transformers draws them.
    const std::uint64_t rates = normal_stream(tensor.name);
    for (std::int64_t i = first; i < end; ++i) {
      const double share = uniform_at(seed, rates, static_cast<std::uint64_t>(i));
      set(i, std::log(0.01 + (16 - 0.01) * share));
    }
    return;
  }
  if (!tensor.decays) {
    const double value = first_value(shape, tensor.role);
    for (std::int64_t i = first; i < end; ++i) set(i, value);
    return;
  }
  const NormalStream stream{seed, normal_stream(tensor.name), shape.init_std};
  NormalBatch batch;
  for (std::int64_t begin = first; begin < end; begin += NormalBatch::kElements) {
    fastest_normal_path().fill(stream, static_cast<std::uint64_t>(begin) / 2, batch);
    const auto count = static_cast<std::size_t>(std::min(NormalBatch::kElements, end - begin));
    const auto at = static_cast<std::size_t>(begin - first);
    std::copy_n(batch.high.begin(), count, high.begin() + static_cast<std::ptrdiff_t>(at));
    std::copy_n(batch.low.begin(), count, low.begin() + static_cast<std::ptrdiff_t>(at));
    for (std::size_t i = 0; i < count; ++i) {
      if (batch.unsure[i] == 0) continue;
      const auto index = static_cast<std::uint64_t>(begin) + i;
      set(begin + static_cast<std::int64_t>(i), shape.init_std * normal_of(stream, index));
    }
  }
}

}  // namespace sluice::engine
