// The rule. Sizes in bytes, bf16; c = tokens of a chunk, d, kv, f, V = widths of model, keys, feed
// forward and vocabulary, S = sequence length, n = chunks of a round:
//   block   2 (2 d d + 2 d kv + 3 d f + 2 d)                   weights of a block; as many of
//   gradient record  2 c (4 d + 2 kv + 2 f)                             x, q, k, v, attention, o,
//   gate, up sticky  workspace + context 8 max(c, S) kv + embedding and head with state 8 (2 V + 1)
//   d
//           + transitions 4 n c d + logits 2 c V + head 2 c (d + V) + 4 c + recomputed 4 c d
//           + gradients of a record + scratch 2 c (d + f)
//   workspace 0.4 GiB + 4 c d + 2 S d
// What is left over sticky holds as many whole layers (block, its gradient, n records) as fit, then
// one more block, then records; at least one block, one gradient and two records. The host holds
// weights, gradients, m and v of blocks, and the other records: each at the least level first, then
// as many as fit with the attention output, then whole. Source:
// bench/reproduce_results/transformer_record_throughput.c of als244/ml_dataflow; the workspace is
// fitted to the device memory that its tables report (experiments/throughput).
#include "planner/policy_ml_dataflow.hpp"

#include <algorithm>
#include <array>
#include <cmath>

#include "planner/units_text.hpp"
#include "sim/error.hpp"
#include "sim/nearest_name.hpp"

namespace sluice::planner {
namespace {

constexpr double kGiB = 1024.0 * 1024 * 1024;
constexpr double kWorkspaceBytes = 0.4 * kGiB;

/// Counts of slots and records.
struct Slots {
  std::int64_t blocks = 1, gradients = 1, records = 2;
  std::int64_t input = 0, attention = 0, full = 0;  ///< Records on the host by level.
  [[nodiscard]] std::int64_t home() const { return input + attention + full; }
};

struct Sizes {
  double block, record, least, with_attention, sticky, host;
  std::int64_t layers, chunks;

  Sizes(const Job& job, std::int64_t chunks_a_round) : chunks(chunks_a_round) {
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
    const double ends = (2 * v + 1) * d;
    sticky = workspace + 8 * std::max(c, s) * kv + 8 * ends + 4 * n * c * d + 2 * c * v +
             2 * c * (d + v) + 4 * c + 4 * c * d + record + 2 * c * (d + f);
    host = 2 * ends + 4 * l * block + 12 * n * c + 4 * n * c * d;
  }
  [[nodiscard]] double device(const Slots& slots) const {
    return sticky + static_cast<double>(slots.blocks + slots.gradients) * block +
           static_cast<double>(slots.records) * record;
  }
  [[nodiscard]] double home(const Slots& slots) const {
    return host + static_cast<double>(slots.input) * least +
           static_cast<double>(slots.attention) * with_attention +
           static_cast<double>(slots.full) * record;
  }
};

Slots device_slots(const Sizes& sizes, double device) {
  const double left = device - sizes.sticky;
  Slots slots;
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

void level_records(Slots& slots, const Sizes& sizes, double host) {
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

/// Chunks of a round: whose records weigh as much as a block, in whole sequences.
std::int64_t usual_chunks(const Job& job) {
  const Sizes one(job, 1);
  const std::int64_t each = job.chunks_per_sequence();
  auto groups =
      std::clamp<std::int64_t>(std::lround(one.block / one.record / static_cast<double>(each)), 1,
                               std::max<std::int64_t>(1, job.micro_batches() / each));
  // Rounds are equal: where the rule leaves a shorter last one, fewer chunks.
  while (groups > 1 && job.micro_batches() % (each * groups) != 0) --groups;
  return each * groups;
}

std::vector<Keep> levels_of(const Slots& slots, const Sizes& sizes) {
  const auto home = static_cast<std::size_t>(slots.home());
  // Attention is computed again where it is short: at the front of the sequences.
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
  // Whole ones and those with attention in turn, so that the link is loaded evenly.
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

TierMemory tier(double peak, Bytes capacity, const char* part) {
  TierMemory memory;
  memory.peak = Bytes(static_cast<std::int64_t>(peak));
  memory.capacity = capacity;
  memory.parts.emplace_back(part, memory.peak);
  return memory;
}

using Count = std::optional<std::int64_t> MlDataflowColumns::*;
struct Column {
  const char* name;
  Count count;
};
constexpr std::array kColumns = {
    Column{"chunk_size", &MlDataflowColumns::chunk_size},
    Column{"seqs_per_step", &MlDataflowColumns::seqs_per_step},
    Column{"num_rounds_per_step", &MlDataflowColumns::num_rounds_per_step},
    Column{"total_home_acts", &MlDataflowColumns::total_home_acts},
    Column{"total_dev_acts", &MlDataflowColumns::total_dev_acts},
    Column{"num_inp_only_saved", &MlDataflowColumns::num_inp_only_saved},
    Column{"num_inp_attn_saved", &MlDataflowColumns::num_inp_attn_saved},
    Column{"num_full_saved", &MlDataflowColumns::num_full_saved},
    Column{"dev_blocks", &MlDataflowColumns::dev_blocks},
    Column{"grad_blocks", &MlDataflowColumns::grad_blocks},
};

}  // namespace

MlDataflowColumns ml_dataflow_columns(const std::map<std::string, std::string>& settings) {
  MlDataflowColumns columns;
  std::vector<std::string> known{"host_mem_gb", "dev_mem_gb"};
  for (const Column& column : kColumns) known.emplace_back(column.name);
  for (const auto& [name, value] : settings) {
    const std::string where = "policy." + name;
    const auto found = std::ranges::find_if(
        kColumns, [&name = name](const Column& column) { return name == column.name; });
    if (found != kColumns.end()) {
      columns.*found->count = parse_count(value, where);
    } else if (name == "host_mem_gb" || name == "dev_mem_gb") {
      (name == "host_mem_gb" ? columns.host_mem_gb : columns.dev_mem_gb) =
          parse_number(value, where);
    } else {
      throw BadRequest(where + ": unknown setting of policy ml_dataflow" +
                       sim::did_you_mean(name, known));
    }
  }
  return columns;
}

Job ml_dataflow_job(Job job, const MlDataflowColumns& columns, const MachineProfile& machine) {
  const std::int64_t usual = machine.architecture == "sm_90" ? 16384 : 8192;
  const std::int64_t chunk = columns.chunk_size.value_or(usual);
  job.optimizer.state = StateType::bf16;
  job.optimizer.clip.reset();
  if (columns.seqs_per_step) job.batch_size = *columns.seqs_per_step;
  if (chunk < 1) throw BadRequest("policy.chunk_size: must be at least 1");
  if (job.seq_len > chunk) {
    job.micro_batch = 1;
    if (job.seq_len % chunk != 0) {
      throw BadRequest("policy.chunk_size: " + std::to_string(chunk) + " must divide seq_len (" +
                       std::to_string(job.seq_len) + "), or be a multiple of it");
    }
    job.sequence_chunk = chunk;
  } else {
    if (chunk % job.seq_len != 0) {
      throw BadRequest("policy.chunk_size: " + std::to_string(chunk) +
                       " must be a multiple of seq_len (" + std::to_string(job.seq_len) + ")");
    }
    job.micro_batch = chunk / job.seq_len;
  }
  job.loss_chunk = chunk;
  return job;
}

PolicyPlan ml_dataflow_plan(const Job& job, const MlDataflowColumns& columns,
                            const ResolvedMachine& machine) {
  const auto cap = [](const std::optional<double>& gib, Bytes otherwise) {
    return gib ? Bytes(static_cast<std::int64_t>(*gib * kGiB)) : otherwise;
  };
  const Bytes device = cap(columns.dev_mem_gb, machine.hbm);
  const Bytes host = cap(columns.host_mem_gb, machine.host);
  const std::int64_t chunks = columns.num_rounds_per_step && *columns.num_rounds_per_step > 0
                                  ? job.micro_batches() / *columns.num_rounds_per_step
                                  : usual_chunks(job);
  if (chunks < 1 || job.micro_batches() % chunks != 0) {
    throw BadRequest("policy.num_rounds_per_step: must divide the " +
                     std::to_string(job.micro_batches()) + " chunks of a step");
  }
  const Sizes sizes(job, chunks);
  Slots slots = device_slots(sizes, static_cast<double>(device.count()));
  if (columns.total_dev_acts) slots.records = *columns.total_dev_acts;
  if (columns.dev_blocks) slots.blocks = *columns.dev_blocks;
  if (columns.grad_blocks) slots.gradients = *columns.grad_blocks;
  level_records(slots, sizes, static_cast<double>(host.count()));
  if (columns.num_inp_only_saved || columns.num_inp_attn_saved || columns.num_full_saved) {
    slots.input = columns.num_inp_only_saved.value_or(0);
    slots.attention = columns.num_inp_attn_saved.value_or(0);
    slots.full = columns.num_full_saved.value_or(0);
  }
  const std::int64_t all = sizes.layers * chunks;
  if (slots.home() + slots.records != all ||
      columns.total_home_acts.value_or(slots.home()) != slots.home()) {
    throw BadRequest(
        "policy.total_home_acts: records saved at the three levels and total_dev_acts (" +
        std::to_string(slots.records) + ") must make the " + std::to_string(all) +
        " records of a round (" + std::to_string(sizes.layers) + " layers x " +
        std::to_string(chunks) + " chunks)");
  }
  UnitPlan block{.weights = slots.blocks >= sizes.layers ? Tier::hbm : Tier::host,
                 .gradients = slots.gradients >= sizes.layers ? Tier::hbm : Tier::host,
                 .state = Tier::host,
                 .keep = Keep::all,
                 .keep_tier = Tier::hbm,
                 .executor = Executor::gpu,
                 .when = When::after};
  PolicyPlan made;
  made.plan = uniform_plan(job, block, job.micro_batches() / chunks);
  for (UnitPlan* end : {&made.plan.units.front(), &made.plan.units.back()}) {
    end->weights = end->gradients = end->state = Tier::hbm;
  }
  made.plan.weight_buffers = std::max<std::int64_t>(1, slots.blocks);
  made.plan.prefetch_depth = made.plan.weight_buffers - 1;
  made.plan.gradient_buffers = std::max<std::int64_t>(1, slots.gradients);
  made.plan.activation_buffers = slots.records;
  made.plan.state_buffers = 2;
  made.plan.saved_records = levels_of(slots, sizes);
  Memory memory;
  at(memory, Tier::hbm) = tier(sizes.device(slots), device, "policy's own rule");
  at(memory, Tier::host) = tier(sizes.home(slots), host, "policy's own rule");
  at(memory, Tier::disk).capacity = machine.disk;
  made.memory = memory;
  return made;
}

}  // namespace sluice::planner
