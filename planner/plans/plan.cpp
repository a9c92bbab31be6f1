#include "planner/plans/plan.hpp"

#include <algorithm>

#include "planner/files/hash.hpp"
#include "planner/models/group_tree.hpp"
#include "planner/models/muon.hpp"
#include "planner/models/slices.hpp"
#include "planner/plans/disk_block.hpp"
#include "sim/error.hpp"

namespace sluice::planner {
namespace {

constexpr std::int64_t kMostSlots = std::int64_t{1} << 20;

void require_in_plan(bool holds, const std::string& field, const std::string& reason) {
  if (!holds) throw BadRequest("plan: " + field + ": " + reason);
}

void require_slots(std::int64_t value, const char* field) {
  require_in_plan(value >= 1 && value <= kMostSlots, field,
                  std::to_string(value) + " must be between 1 and " + std::to_string(kMostSlots));
}

void validate_counts(const Plan& plan, const Job& job) {
  require_slots(plan.weight_buffers, "weight_buffers");
  require_slots(plan.gradient_buffers, "gradient_buffers");
  require_slots(plan.activation_buffers, "activation_buffers");
  require_in_plan(plan.stream_buffers >= kFewestStreams && plan.stream_buffers <= kMostStreams,
                  "stream_buffers",
                  std::to_string(plan.stream_buffers) + " must be between " +
                      std::to_string(kFewestStreams) + " and " + std::to_string(kMostStreams));
  require_slots(plan.threads, "threads");
  require_in_plan(
      plan.state_buffers >= 0 && plan.state_buffers <= kMostSlots, "state_buffers",
      std::to_string(plan.state_buffers) + " must be between 0 and " + std::to_string(kMostSlots));
  require_slots(plan.disk_buffers, "disk_buffers");
  require_in_plan(plan.disk_buffer >= kDiskBlock, "disk_buffer_bytes",
                  std::to_string(plan.disk_buffer.count()) + " must be at least " +
                      std::to_string(kDiskBlock.count()));
  require_in_plan(
      plan.prefetch_depth >= 0 && plan.prefetch_depth < plan.weight_buffers, "prefetch_depth",
      std::to_string(plan.prefetch_depth) + " must be between 0 and weight_buffers - 1 (" +
          std::to_string(plan.weight_buffers - 1) + ")");
  require_in_plan(plan.rounds >= 1, "rounds", std::to_string(plan.rounds) + " must be at least 1");
  require_in_plan(plan.micro_batches_per_round >= 1, "micro_batches_per_round",
                  std::to_string(plan.micro_batches_per_round) + " must be at least 1");
  const std::int64_t micro_batches = job.micro_batches() / plan.ranks;
  require_in_plan(plan.rounds <= micro_batches && micro_batches % plan.rounds == 0 &&
                      plan.micro_batches_per_round == micro_batches / plan.rounds,
                  "rounds",
                  std::to_string(plan.rounds) + " rounds of " +
                      std::to_string(plan.micro_batches_per_round) +
                      " micro-batches must make the " + (plan.ranks == 1 ? "job's " : "rank's ") +
                      std::to_string(micro_batches));
  require_in_plan(plan.copy_chunk == Bytes(0) || plan.copy_chunk >= Bytes(4096), "copy_chunk_bytes",
                  std::to_string(plan.copy_chunk.count()) +
                      " must be at least 4096, or 0 to copy whole tensors");
}

void validate_tiers(const UnitPlan& unit, const std::string& at) {
  const std::string fix = ": set it to host or hbm";
  require_in_plan(unit.weights != Tier::disk || unit.state == Tier::disk, at + "weights",
                  "disk needs state disk, beside which the update reads and writes them: set both, "
                  "or weights to host");
  require_in_plan(unit.gradients != Tier::disk || unit.state == Tier::disk, at + "gradients",
                  "disk needs state disk, with which gradients come back: set both, or gradients "
                  "to host");
  require_in_plan(unit.keep_tier != Tier::disk, at + "keep_tier", "disk cannot be executed" + fix);
  if (unit.executor == Executor::cpu) {
    require_in_plan(unit.state != Tier::hbm, at + "state",
                    "hbm does not go with executor cpu: set state to host, or executor to gpu");
    return;
  }
  require_in_plan(unit.state != Tier::disk, at + "state",
                  "disk does not go with executor gpu: set executor to cpu, or state to host");
  require_in_plan(unit.weights == Tier::hbm || unit.state == Tier::host, at + "weights",
                  "host does not go with state hbm: set weights to hbm, or state to host");
  require_in_plan(unit.gradients == Tier::hbm || unit.state == Tier::host, at + "gradients",
                  "host does not go with executor gpu and state hbm: set gradients to hbm");
}

void validate_waiting(const UnitPlan& unit, const std::string& at) {
  if (unit.gradients != Tier::disk) return;
  require_in_plan(unit.when != When::backward, at + "gradients",
                  "disk does not go with when backward, where no gradient waits: set it to host");
}

void validate_checkpoints(const Plan& plan) {
  require_slots(plan.checkpoint_interval, "checkpoint_interval");
  if (plan.checkpoint_interval == 1) return;
  require_in_plan(plan.saved_records.empty(), "checkpoint_interval",
                  "above 1 does not go with saved_records: leave one of them out");
  for (std::size_t unit = 1; unit + 1 < plan.units.size(); ++unit) {
    require_in_plan(
        plan.units[unit].keep == Keep::input && plan.units[unit].keep_tier == Tier::hbm,
        "checkpoint_interval",
        "above 1 needs keep input and keep_tier hbm of every block: set them, or it to 1");
  }
}

void validate_records(const Plan& plan, const Job& job) {
  if (plan.saved_records.empty()) {
    require_in_plan(
        !job.sequence_chunk || plan.micro_batches_per_round % job.chunks_per_sequence() == 0,
        "micro_batches_per_round",
        "must be a multiple of the " + std::to_string(job.chunks_per_sequence()) +
            " chunks of a sequence");
    return;
  }
  const std::int64_t all = job.model.layers * plan.micro_batches_per_round;
  const auto saved = static_cast<std::int64_t>(plan.saved_records.size());
  require_in_plan(saved + plan.activation_buffers == all, "saved_records",
                  std::to_string(saved) + " saved and " + std::to_string(plan.activation_buffers) +
                      " in activation_buffers must make the " + std::to_string(all) +
                      " records of a round");
}

/// Sums of a job's groups need the order of micro-batches that saved_records turns round, and wait
/// between rounds in memory alone.
void validate_groups(const Plan& plan, const Job& job) {
  if (job.groups == 1) return;
  require_in_plan(plan.saved_records.empty(), "saved_records",
                  "does not go with groups above 1: leave it out, or set groups of the job to 1");
  const Job part = part_of_rank(job, plan.ranks);
  if (sums_between_rounds(part.micro_batches(), part.groups, plan.rounds) == 0) return;
  for (std::size_t unit = 0; unit < plan.units.size(); ++unit) {
    require_in_plan(plan.units[unit].gradients != Tier::disk,
                    "layers[" + std::to_string(unit) + "].gradients",
                    "disk does not go with rounds that leave several sums of the job's " +
                        std::to_string(job.groups) + " groups: set it to host, or rounds to 1");
  }
}

void validate_unit(const Plan& plan, const Job& job, std::size_t index) {
  const UnitPlan& unit = plan.units[index];
  const std::string at = "layers[" + std::to_string(index) + "].";
  validate_tiers(unit, at);
  validate_waiting(unit, at);
  require_in_plan(unit.state != Tier::disk || job.optimizer.state != StateType::bf16_weights,
                  at + "state",
                  "disk holds state with fp32 masters alone: set it to host, or optimizer.state to "
                  "fp32");
  require_in_plan(unit.executor == Executor::gpu || !muon_updates(job, index), at + "executor",
                  "cpu does not go with optimizer.kind muon, whose matrix products are the "
                  "device's: set executor to gpu, or the kind to adamw");
  require_in_plan(
      unit.when != When::backward || !job.optimizer.clip, at + "when",
      "backward needs clipping off, for the norm is known only after the last gradient: set "
      "when to forward or after, or optimizer.clip to off");
  require_in_plan(unit.executor == Executor::cpu || unit.when != When::forward, at + "when",
                  "forward does not go with executor gpu: set when to after");
  require_in_plan(
      unit.when == When::after || !stages_state(unit) || unit.staging == Staging::ring, at + "when",
      "backward does not go with executor gpu and state host of staging whole: set staging to "
      "ring, or when to after");
  require_in_plan(unit.keep != Keep::input_kv && unit.keep != Keep::attention, at + "keep",
                  std::string(to_string(unit.keep)) + " is a level of saved_records alone");
  if (unit_at(job.model, index).kind != UnitKind::block) {
    require_in_plan(unit.keep == Keep::input && unit.keep_tier == Tier::hbm, at + "keep",
                    "embed and head keep nothing: leave keep at input and keep_tier at hbm");
  }
}

}  // namespace

Plan uniform_plan(const Job& job, const UnitPlan& unit, std::int64_t rounds) {
  check(rounds >= 1 && job.micro_batches() % rounds == 0, "rounds divide the micro-batches");
  Plan plan;
  plan.units.assign(unit_count(job.model), unit);
  for (UnitPlan* end : {&plan.units.front(), &plan.units.back()}) {
    end->keep = Keep::input;
    end->keep_tier = Tier::hbm;
  }
  plan.rounds = rounds;
  plan.micro_batches_per_round = job.micro_batches() / rounds;
  return plan;
}

void validate(const Plan& plan, const Job& job) {
  const std::size_t units = unit_count(job.model);
  require_in_plan(plan.units.size() == units, "layers",
                  std::to_string(plan.units.size()) + " entries for a model of " +
                      std::to_string(units) + " units (embed, " + std::to_string(job.model.layers) +
                      " blocks, head)");
  require_in_plan(plan.ranks >= 1, "ranks", std::to_string(plan.ranks) + " must be at least 1");
  validate_ranks(plan, job);
  validate_counts(plan, job);
  for (std::size_t index = 0; index < units; ++index) {
    // Blocks are many and mostly alike; what holds for one holds for its like.
    const bool is_alike =
        index > 1 && index + 1 < units && plan.units[index] == plan.units[index - 1];
    if (!is_alike) validate_unit(plan, job, index);
  }
  validate_records(plan, job);
  validate_groups(plan, job);
  validate_checkpoints(plan);
  for (const HostPass& pass : plan.host_passes) validate(pass, "plan: host_passes: ");
  if (job.model.tied_head) {
    require_in_plan(
        plan.units.back().gradients == plan.units.front().gradients,
        "layers[" + std::to_string(units - 1) + "].gradients",
        "must equal layers[0].gradients, for the tied head's gradient joins the embedding's");
  }
}

void require_executable(const Plan& plan) {
  const auto only_predicted = [](const std::string& field, const char* fix) {
    throw BadRequest("plan: " + field + " is predicted and not executed in this version: " + fix);
  };
  if (!plan.saved_records.empty()) {
    only_predicted("saved_records", "choose keep and keep_tier of each layer");
  }
  if (plan.checkpoint_interval != 1) only_predicted("checkpoint_interval above 1", "set it to 1");
  if (!plan.host_passes.empty()) only_predicted("host_passes", "leave them out");
}

std::string plan_hash(const Plan& plan) {
  CanonicalText text("sluice/plan/1");
  text.add("weight_buffers", plan.weight_buffers)
      .add("gradient_buffers", plan.gradient_buffers)
      .add("activation_buffers", plan.activation_buffers)
      .add("prefetch_depth", plan.prefetch_depth)
      .add("rounds", plan.rounds)
      .add("micro_batches_per_round", plan.micro_batches_per_round)
      .add("copy_chunk_bytes", plan.copy_chunk.count())
      .add("threads", plan.threads);
  // Plans made before there was a choice keep their hash.
  if (plan.state_buffers != 0) text.add("state_buffers", plan.state_buffers);
  if (plan.stream_buffers != kFewestStreams) text.add("stream_buffers", plan.stream_buffers);
  if (uses_disk(plan)) {
    text.add("disk_buffers", plan.disk_buffers).add("disk_buffer_bytes", plan.disk_buffer.count());
  }
  for (const Keep level : plan.saved_records) text.add("saved", to_string(level));
  if (plan.checkpoint_interval != 1) text.add("checkpoint_interval", plan.checkpoint_interval);
  if (plan.ranks != 1) {
    text.add("ranks", plan.ranks)
        .add("exchange_piece_bytes", plan.exchange_piece.count())
        .add("receive_buffers", plan.receive_buffers);
    if (plan.hosts != 1) text.add("hosts", plan.hosts);
    if (plan.gather != Gather::fabric) text.add("gather", to_string(plan.gather));
  }
  for (const HostPass& pass : plan.host_passes) {
    text.add("host_pass", pass.name)
        .add("moment", to_string(pass.moment))
        .add("over", to_string(pass.over))
        .add("threads", to_string(pass.threads))
        .add("bytes", pass.bytes_per_parameter);
  }
  for (const UnitPlan& unit : plan.units) {
    text.add("weights", to_string(unit.weights))
        .add("gradients", to_string(unit.gradients))
        .add("state", to_string(unit.state))
        .add("keep", to_string(unit.keep))
        .add("keep_tier", to_string(unit.keep_tier))
        .add("executor", to_string(unit.executor))
        .add("when", to_string(unit.when));
    if (unit.staging != Staging::whole) text.add("staging", to_string(unit.staging));
    if (unit.resident != Extent::whole) text.add("resident", to_string(unit.resident));
  }
  return text.hash();
}

const char* to_string(Tier tier) {
  switch (tier) {
    case Tier::hbm:
      return "hbm";
    case Tier::host:
      return "host";
    case Tier::disk:
      return "disk";
  }
  return "";
}

const char* to_string(Keep keep) {
  switch (keep) {
    case Keep::input:
      return "input";
    case Keep::selective:
      return "selective";
    case Keep::all:
      return "all";
    case Keep::input_kv:
      return "input_kv";
    case Keep::attention:
      return "attention";
  }
  return "";
}

const char* to_string(Executor executor) { return executor == Executor::cpu ? "cpu" : "gpu"; }

const char* to_string(When when) {
  switch (when) {
    case When::backward:
      return "backward";
    case When::forward:
      return "forward";
    case When::after:
      return "after";
  }
  return "";
}

const char* to_string(Gather gather) { return gather == Gather::fabric ? "fabric" : "host"; }

const char* to_string(Extent extent) { return extent == Extent::whole ? "whole" : "slice"; }

const char* to_string(Staging staging) { return staging == Staging::whole ? "whole" : "ring"; }

bool is_valid(const Plan& plan, const Job& job) {
  try {
    validate(plan, job);
  } catch (const BadRequest&) {
    return false;
  }
  return true;
}

bool uses_disk(const Plan& plan) {
  return std::any_of(plan.units.begin(), plan.units.end(),
                     [](const UnitPlan& unit) { return unit.state == Tier::disk; });
}

}  // namespace sluice::planner
