#include "planner/policies/ml_dataflow_slots.hpp"

#include <algorithm>
#include <cmath>

namespace sluice::planner {

MlDataflowSizes::MlDataflowSizes(const Job& job, std::int64_t chunks_a_round)
    : chunks(chunks_a_round) {
  constexpr double kWorkspaceBytes = 0.4 * 1024 * 1024 * 1024;
  const ModelShape& m = job.model;
  const auto d = static_cast<double>(m.hidden), f = static_cast<double>(m.intermediate);
  const auto q = static_cast<double>(m.heads * m.head_dim);
  const auto kv = static_cast<double>(m.kv_heads * m.head_dim);
  const auto v = static_cast<double>(m.vocab), c = static_cast<double>(job.micro_tokens());
  const auto s = static_cast<double>(job.seq_len), n = static_cast<double>(chunks);
  layers = m.layers;
  const double l = static_cast<double>(layers);
  block = 2 * (2 * d * q + 2 * d * kv + 3 * d * f + 2 * d);
  record = 2 * c * (2 * d + 2 * q + 2 * kv + 2 * f);
  least = 2 * c * (d + 2 * kv);
  with_attention = least + 2 * c * q;
  const double workspace = kWorkspaceBytes + 4 * c * d + 2 * s * d;
  const double outer_units = (2 * v + 1) * d;
  sticky = workspace + 8 * std::max(c, s) * kv + 8 * outer_units + 4 * n * c * d + 2 * c * v +
           2 * c * (d + v) + 4 * c + 4 * c * d + record + 2 * c * (d + f);
  host = 2 * outer_units + 4 * l * block + 12 * n * c + 4 * n * c * d;
}

MlDataflowSlots device_slots(const MlDataflowSizes& sizes, double device) {
  const double left = device - sizes.sticky;
  MlDataflowSlots slots;
  const double layer = 2 * sizes.block + static_cast<double>(sizes.chunks) * sizes.record;
  const auto whole =
      std::clamp<std::int64_t>(static_cast<std::int64_t>(left / layer), 0, sizes.layers);
  if (whole == 0) {
    const auto records = static_cast<std::int64_t>((left - 2 * sizes.block) / sizes.record);
    slots.records = std::max<std::int64_t>(2, records);
  } else {
    slots.blocks = slots.gradients = whole;
    slots.records = whole * sizes.chunks;
    if (whole < sizes.layers) {
      double over = left - static_cast<double>(whole) * layer;
      if (over > sizes.block) {
        ++slots.blocks;
        over -= sizes.block;
      }
      slots.records += static_cast<std::int64_t>(over / sizes.record);
    }
  }
  slots.records = std::min(slots.records, sizes.layers * sizes.chunks);
  return slots;
}

void level_records(MlDataflowSlots& slots, const MlDataflowSizes& sizes, double host) {
  const std::int64_t home = sizes.layers * sizes.chunks - slots.records;
  slots.input = home;
  const double left = host - sizes.home(slots);
  const auto upgrades = [home](double bytes, double each) {
    return std::clamp<std::int64_t>(static_cast<std::int64_t>(bytes / each), 0, home);
  };
  const double more = sizes.with_attention - sizes.least;
  slots.attention = upgrades(left, more);
  slots.input = home - slots.attention;
  if (slots.input > 0) return;
  const double rest = left - static_cast<double>(home) * more;
  slots.full = upgrades(rest, sizes.record - sizes.with_attention);
  slots.attention = home - slots.full;
}

std::int64_t usual_chunks(const Job& job) {
  const MlDataflowSizes one(job, 1);
  const std::int64_t each = job.chunks_per_sequence();
  auto groups =
      std::clamp<std::int64_t>(std::lround(one.block / one.record / static_cast<double>(each)), 1,
                               std::max<std::int64_t>(1, job.micro_batches() / each));
  // Rounds have equal numbers of chunks: where the rule leaves a shorter last one, each gets fewer.
  while (groups > 1 && job.micro_batches() % (each * groups) != 0) --groups;
  return each * groups;
}

std::vector<Keep> levels_of(const MlDataflowSlots& slots, const MlDataflowSizes& sizes) {
  const auto home = static_cast<std::size_t>(slots.home());
  // Attention is recomputed where it is short: at the front of the sequences.
  std::vector<bool> least(home, false);
  std::int64_t left = slots.input;
  for (std::int64_t chunk = 0; chunk < sizes.chunks && left > 0; ++chunk) {
    for (std::int64_t layer = 0; layer < sizes.layers && left > 0; ++layer) {
      const auto at = static_cast<std::size_t>(layer * sizes.chunks + chunk);
      if (at >= home) break;
      least[at] = true;
      --left;
    }
  }
  // Whole records and those with attention alternate, so that the link is loaded evenly.
  std::vector<Keep> levels(home, Keep::input_kv);
  std::int64_t full = slots.full, attention = slots.attention;
  bool whole = true;
  for (std::size_t i = 0; i < home; ++i) {
    if (least[i]) continue;
    const bool now = full > 0 && (whole || attention == 0);
    levels[i] = now ? Keep::all : Keep::attention;
    --(now ? full : attention);
    whole = !whole;
  }
  return levels;
}

}  // namespace sluice::planner
