// The columns of the bench's tables, and the plan that follows from them
// (planner/policies/ml_dataflow_slots.hpp).
#include "planner/policies/ml_dataflow.hpp"

#include <algorithm>
#include <array>

#include "planner/policies/ml_dataflow_slots.hpp"
#include "sim/error.hpp"
#include "sim/nearest_name.hpp"
#include "sim/units_text.hpp"

namespace sluice::planner {
namespace {

constexpr double kGiB = 1024.0 * 1024 * 1024;
constexpr double kMostGib = 1e6;

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
  std::vector<std::string> known{"host_mem_gb", "dev_mem_gb", "attention"};
  for (const Column& column : kColumns) known.emplace_back(column.name);
  for (const auto& [name, value] : settings) {
    if (name == "attention") continue;  // It is every policy's.
    const std::string where = "policy." + name;
    const auto found = std::ranges::find_if(
        kColumns, [&name = name](const Column& column) { return name == column.name; });
    if (found != kColumns.end()) {
      columns.*found->count = parse_count(value, where);
    } else if (name == "host_mem_gb" || name == "dev_mem_gb") {
      const double gib = parse_number(value, where);
      if (!(gib > 0 && gib <= kMostGib)) {
        throw BadRequest(where + ": must be above 0 and at most 1000000 (GiB)");
      }
      (name == "host_mem_gb" ? columns.host_mem_gb : columns.dev_mem_gb) = gib;
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
  job.optimizer.state = StateType::bf16_weights;
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
    if (job.batch_size % job.micro_batch != 0) {
      throw BadRequest((columns.seqs_per_step ? "policy.seqs_per_step: " : "batch_size: ") +
                       std::to_string(job.batch_size) + " must be a multiple of the " +
                       std::to_string(job.micro_batch) +
                       " sequences of a chunk (policy.chunk_size " + std::to_string(chunk) + ")");
    }
  }
  job.loss_chunk = chunk;
  return job;
}

GivenPlan ml_dataflow_plan(const Job& job, const MlDataflowColumns& columns,
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
  const MlDataflowSizes sizes(job, chunks);
  MlDataflowSlots slots = device_slots(sizes, static_cast<double>(device.count()));
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
  GivenPlan made{.plan = {}, .source = PlanSource::policy};
  made.plan = uniform_plan(job, block, job.micro_batches() / chunks);
  for (UnitPlan* end : {&made.plan.units.front(), &made.plan.units.back()}) {
    end->weights = end->gradients = end->state = Tier::hbm;
  }
  set_weight_buffers(made.plan, std::max<std::int64_t>(1, slots.blocks));
  made.plan.gradient_buffers = std::max<std::int64_t>(1, slots.gradients);
  made.plan.activation_buffers = slots.records;
  made.plan.state_buffers = 2;
  made.plan.saved_records = levels_of(slots, sizes);
  Memory memory;
  at(memory, Tier::hbm) = tier(sizes.device(slots), device, "policy's own rule");
  at(memory, Tier::host) = tier(sizes.home(slots), host, "policy's own rule");
  at(memory, Tier::disk).capacity = machine.disk;
  made.policy_memory = memory;
  return made;
}

}  // namespace sluice::planner
