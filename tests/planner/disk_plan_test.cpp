// Optimizer state that lives on the disk: its pieces, its tasks, what it costs, and when the search
// puts it there.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <random>

#include "planner/disk_search.hpp"
#include "planner/disk_state.hpp"
#include "planner/layout.hpp"
#include "planner/random_plan.hpp"
#include "planner/remedies.hpp"
#include "sim/simulate.hpp"
#include "tests/planner/refusal.hpp"
#include "tests/planner/round_machine.hpp"
#include "tests/planner/step_jobs.hpp"

namespace sluice::planner {
namespace {

using test::RoundCosts;
using test::tiny_job;

/// Blocks of several pieces.
Job pieced_job() {
  Job job = tiny_job();
  job.model.layers = 2;
  job.model.hidden = 256;
  job.model.intermediate = 512;
  job.model.head_dim = 64;
  return job;
}

/// A random plan whose CPU units have their state on the disk where a bit of `units` says so.
Plan random_disk_plan(const Job& job, std::uint64_t seed, std::uint64_t units) {
  Plan plan = random_plan(job, seed);
  for (std::size_t i = 0; i < plan.units.size(); ++i) {
    UnitPlan& unit = plan.units[i];
    if (unit.executor == Executor::cpu && (units >> i & 1) != 0) unit.state = Tier::disk;
  }
  plan.disk_buffers = 1 + static_cast<std::int64_t>(seed % 4);
  plan.disk_buffer = kDiskBlock;
  return plan;
}

ResolvedMachine disk_machine(double read = 10e6, double write = 5e6) {
  ResolvedMachine machine = test::round_machine();
  machine.profile.disk_read = test::measured(read);
  machine.profile.disk_write = test::measured(write);
  machine.disk = Bytes(1ll << 40);
  machine.state_on_disk = true;
  return machine;
}

std::int64_t padded(const Job& job) {
  std::int64_t all = 0;
  for (std::size_t unit = 0; unit < unit_count(job.model); ++unit) {
    all += unit_tensors(job.model, unit).padded_size;
  }
  return all;
}

Plan all_on_disk(const Job& job, Tier state = Tier::disk) {
  UnitPlan unit;
  unit.state = state;
  return uniform_plan(job, unit, 1);
}

TEST(DiskState, PiecesCoverAUnitAndLieAligned) {
  for (const ComputeType compute : {ComputeType::bf16, ComputeType::fp32}) {
    Job job = tiny_job();
    job.compute = compute;
    const std::int64_t low = compute == ComputeType::bf16 ? 2 : 0;
    EXPECT_EQ(disk_element(job), Bytes(low + 8));
    Plan plan;
    plan.disk_buffer = Bytes(4ll << 20);
    for (const std::int64_t parameters : {1, 4096, 131072, 131073, 5'000'001}) {
      std::int64_t next = 0;
      Bytes end{0};
      for (const DiskPiece& piece : disk_pieces(job, plan, parameters)) {
        EXPECT_EQ(piece.first, next);
        next += piece.count;
        EXPECT_GE(piece.offset, end);
        EXPECT_EQ(piece.offset.count() % kDiskBlock.count(), 0);
        for (const Bytes at : {piece.moment1, piece.moment2, piece.bytes}) {
          EXPECT_EQ(at.count() % kDiskAlign.count(), 0);
        }
        EXPECT_GE(piece.moment1, Bytes(low * piece.count));
        EXPECT_GE(piece.moment2, piece.moment1 + Bytes(4 * piece.count));
        EXPECT_GE(piece.bytes, piece.moment2 + Bytes(4 * piece.count));
        EXPECT_LE(piece.bytes, plan.disk_buffer + kDiskAlign * 3);
        end = piece.offset + piece.bytes;
      }
      EXPECT_EQ(next, parameters);
    }
  }
}

TEST(DiskPlan, LayoutHoldsAndEveryByteThatComesGoesBack) {
  for (std::uint64_t seed = 0; seed < 60; ++seed) {
    Job job = seed % 4 == 3 ? pieced_job() : tiny_job(seed % 2 == 0);
    if (seed % 3 == 0) job.compute = ComputeType::fp32;
    if (seed % 5 == 0) job.gradient_wire = GradientWire::bf16;
    if (seed % 2 == 1) job.optimizer.clip.reset();
    const Plan plan = random_disk_plan(job, seed, seed * 2654435761u >> 3);
    const StepGraph graph = build_step_graph(job, plan, RoundCosts());
    EXPECT_EQ(find_layout_fault(graph, graph.layout), std::nullopt) << "seed " << seed;
    std::map<int, std::int64_t> read, written, updated;
    for (const StepTask& task : graph.tasks) {
      if (task.step != 2) continue;
      if (task.kind == TaskKind::read_state) read[task.unit] += task.bytes.count();
      if (task.kind == TaskKind::write_state) written[task.unit] += task.bytes.count();
      if (task.kind == TaskKind::update) updated[task.unit] += task.parameters;
    }
    EXPECT_EQ(read, written) << "seed " << seed;
    for (std::size_t unit = 0; unit < plan.units.size(); ++unit) {
      const std::int64_t size = unit_tensors(job.model, unit).padded_size;
      EXPECT_EQ(updated[static_cast<int>(unit)], size);
      const bool disk = plan.units[unit].state == Tier::disk;
      EXPECT_EQ(read.contains(static_cast<int>(unit)), disk);
      if (disk) {
        EXPECT_GE(read[static_cast<int>(unit)], (disk_element(job) * size).count());
      }
    }
  }
}

TEST(DiskPlan, APieceIsReadAfterItsLastWriteAndUpdatedBetween) {
  const Job job = pieced_job();
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    const StepGraph graph = build_step_graph(job, random_disk_plan(job, seed, ~0ull), RoundCosts());
    const sim::Timeline timeline = sim::simulate(graph.graph);
    std::map<std::string, sim::Timeline::Span> spans;
    for (std::size_t i = 0; i < graph.tasks.size(); ++i) {
      spans[graph.graph.tasks()[i].id] = timeline.spans[i];
    }
    int pieces = 0;
    for (const auto& [id, span] : spans) {
      const auto at = id.find("/read/");
      if (at == id.npos || id[1] == '1') continue;
      const std::string step = id.substr(0, 2), rest = id.substr(at + 6);
      const std::string unit = id.substr(9, at - 9), piece = rest.substr(0, rest.find('/'));
      const auto write = [&](char number) {
        return spans.at(std::string{'s', number} + "/state/" + unit + "/write/" + rest);
      };
      EXPECT_GE(span.start, write(static_cast<char>(id[1] - 1)).end) << id;
      const auto update = spans.at(step + "/update/" + unit + "/" + piece);
      EXPECT_GE(update.start, span.end) << id;
      EXPECT_GE(write(id[1]).start, update.end) << id;
      ++pieces;
    }
    const Plan plan = random_disk_plan(job, seed, ~0ull);
    EXPECT_EQ(pieces > 0, uses_disk(plan));
  }
}

TEST(DiskPlan, ReadsRunAheadOfTheNorm) {
  const Job job = tiny_job();
  const StepGraph graph = build_step_graph(job, all_on_disk(job), RoundCosts());
  const sim::Timeline timeline = sim::simulate(graph.graph);
  std::map<std::string, sim::Timeline::Span> spans;
  for (std::size_t i = 0; i < graph.tasks.size(); ++i) {
    spans[graph.graph.tasks()[i].id] = timeline.spans[i];
  }
  EXPECT_LT(spans.at("s2/state/embed/read/p0/c0").end, spans.at("s2/grads").end);
  EXPECT_GE(spans.at("s2/update/embed/p0").start, spans.at("s2/grads").end);
}

TEST(DiskPlan, PlansWithoutDiskKeepHashGraphAndFile) {
  const Job job = tiny_job();
  const Plan plan = all_on_disk(job, Tier::host);
  Plan other = plan;
  other.disk_buffers = 7;
  EXPECT_EQ(plan_hash(plan), plan_hash(other));
  EXPECT_EQ(build_step_graph(job, plan, RoundCosts()).graph.lanes().size(), 5u);
  PlanFile file;
  file.plan = plan;
  EXPECT_EQ(to_json_text(file).find("disk"), std::string::npos);
  file.plan = all_on_disk(job);
  file.plan.disk_buffers = 5;
  file.plan.disk_buffer = Bytes(1 << 20);
  EXPECT_EQ(plan_file_from_json(to_json_text(file), "test").plan, file.plan);
  EXPECT_NE(plan_hash(file.plan), plan_hash(all_on_disk(job)));
}

TEST(DiskPlan, WhatCannotBeIsRefusedByField) {
  const Job job = tiny_job();
  Plan plan = all_on_disk(job);
  plan.disk_buffers = 0;
  EXPECT_REFUSED(validate(plan, job), "plan: disk_buffers");
  plan = all_on_disk(job);
  plan.disk_buffer = Bytes(1);
  EXPECT_REFUSED(validate(plan, job), "plan: disk_buffer_bytes");
  plan = all_on_disk(job);
  plan.units[2].executor = Executor::gpu;
  plan.units[2].when = When::after;
  EXPECT_REFUSED(validate(plan, job), "layers[2].state: disk does not go with executor gpu");
  ResolvedMachine machine = disk_machine();
  machine.profile.disk_write = {};
  const Predictor predictor(job, machine, {});
  EXPECT_REFUSED(predictor.predict(all_on_disk(job)), "disk_write has no rate");
}

TEST(DiskPlan, MemoryTablesMoveWhatIsOnTheDisk) {
  const Job job = tiny_job();
  const Predictor predictor(job, disk_machine(), {});
  const Memory disk = predictor.predict(all_on_disk(job)).prediction.memory;
  const Memory host = predictor.predict(all_on_disk(job, Tier::host)).prediction.memory;
  EXPECT_EQ(at(host, Tier::disk).peak, Bytes(0));
  EXPECT_GE(at(disk, Tier::disk).peak, Bytes(10 * padded(job)));
  const auto part = [](const Memory& memory, const std::string& name) {
    for (const auto& [part, bytes] : at(memory, Tier::host).parts) {
      if (part == name) return bytes;
    }
    return Bytes(0);
  };
  EXPECT_EQ(part(host, "weights") - part(disk, "weights"), Bytes(2 * padded(job)));
  EXPECT_EQ(part(host, "state"), Bytes(8 * padded(job)));
  EXPECT_EQ(part(disk, "state"), Bytes(0));
  EXPECT_GT(part(disk, "disk buffers"), Bytes(0));
  for (const Memory* memory : {&disk, &host}) {
    for (const TierMemory& tier : *memory) {
      Bytes sum{0};
      for (const auto& [name, bytes] : tier.parts) sum += bytes;
      EXPECT_EQ(sum, tier.peak);
    }
  }
}

TEST(DiskPlan, ADiskThatIsTheBoundIsBusyAllTheTime) {
  const Job job = tiny_job();
  const Predictor predictor(job, disk_machine(100e3, 50e3), {});
  const Prediction made = predictor.predict(all_on_disk(job)).prediction;
  const double written = 10.0 * static_cast<double>(padded(job));
  EXPECT_GE(to_seconds(made.step).count(), written / 50e3);
  for (const auto& [lane, share] : made.busy) {
    if (lane == "disk-write") {
      EXPECT_GT(share, 0.9);
    }
  }
}

TEST(DiskPlan, ALimitThatReadsAndWritesShareSlowsBoth) {
  const Job job = tiny_job();
  const ResolvedMachine apart = disk_machine(100e3, 100e3);
  ResolvedMachine shared = apart;
  shared.profile.disk_both = test::measured(100e3);
  const Plan plan = all_on_disk(job);
  const double free = to_seconds(Predictor(job, apart, {}).score(plan).step).count();
  const double both = to_seconds(Predictor(job, shared, {}).score(plan).step).count();
  EXPECT_GT(both, 1.5 * free);
  EXPECT_LT(both, 2.1 * free);
}

TEST(DiskBound, NoPlanBeatsIt) {
  const Job job = tiny_job();
  ResolvedMachine machine = disk_machine(200e3, 100e3);
  const std::int64_t state = 12 * padded(job);
  machine.hbm = Bytes(state / 4);
  machine.host = Bytes(state / 4);
  const Bound bound =
      bound_of(job, ProfileCostModel(machine.profile, {}), machine, Residency::automatic);
  // Half of the state fits nowhere else, and is written once a step.
  const double least = static_cast<double>(state - state / 4 * 2) / 100e3;
  EXPECT_NEAR(bound.each[static_cast<std::size_t>(BoundBy::disk)].count(), least, 0.01 * least);
  machine.hbm = machine.host = Bytes(1ll << 30);
  const Predictor roomy(job, machine, {});
  EXPECT_EQ(roomy.bound().each[static_cast<std::size_t>(BoundBy::disk)], Seconds(0));
  for (std::uint64_t seed = 0; seed < 30; ++seed) {
    const Plan plan = random_disk_plan(job, seed, ~0ull);
    EXPECT_GE(to_seconds(roomy.score(plan).step), roomy.bound().time * (1 - 1e-9));
  }
}

SearchSettings quick_search() {
  return {.pins = {}, .effort = 400'000, .threads = 2, .exhaustive = 1000};
}

/// A host that holds about half of the state.
ResolvedMachine short_host(const Job& job) {
  ResolvedMachine machine = disk_machine();
  machine.hbm = Bytes(4 << 20);
  const Predictor roomy(job, machine, {});
  const Memory all = roomy.predict(all_on_disk(job, Tier::host)).prediction.memory;
  machine.host = at(all, Tier::host).peak - Bytes(6 * padded(job));
  return machine;
}

/// State much larger than the slots that it passes through.
Job deep_job() {
  Job job = tiny_job();
  job.model.layers = 12;
  return job;
}

TEST(DiskSearch, TakesTheDiskOnlyWhereMemoryIsShortAndTheDiskIsLent) {
  const Job job = deep_job();
  ResolvedMachine machine = short_host(job);
  const auto found = search(Predictor(job, machine, {}, Residency::host), quick_search());
  ASSERT_TRUE(std::holds_alternative<Planned>(found));
  const Planned& planned = std::get<Planned>(found);
  EXPECT_TRUE(planned.best.prediction.fits);
  EXPECT_TRUE(uses_disk(planned.best.prediction.plan));
  EXPECT_GE(to_seconds(planned.best.prediction.step), planned.bound);
  EXPECT_GE(planned.optimality_gap, 0);

  machine.state_on_disk = false;
  EXPECT_TRUE(std::holds_alternative<Infeasible>(
      search(Predictor(job, machine, {}, Residency::host), quick_search())));

  machine.state_on_disk = true;
  machine.host = Bytes(1ll << 30);
  const auto roomy = search(Predictor(job, machine, {}, Residency::host), quick_search());
  EXPECT_FALSE(uses_disk(std::get<Planned>(roomy).best.prediction.plan));
}

TEST(DiskSearch, NoShareOfTheLayersIsMuchFasterThanTheOneFound) {
  const Job job = deep_job();
  const Predictor predictor(job, short_host(job), {}, Residency::host);
  const auto found = search(predictor, quick_search());
  ASSERT_TRUE(std::holds_alternative<Planned>(found));
  const Prediction& best = std::get<Planned>(found).best.prediction;
  // Every set of consecutive units, in the plan found: none that fits is much faster.
  int fitted = 0;
  for (std::size_t from = 0; from < best.plan.units.size(); ++from) {
    for (std::size_t to = from; to < best.plan.units.size(); ++to) {
      Plan plan = best.plan;
      for (std::size_t unit = 0; unit < plan.units.size(); ++unit) {
        if (plan.units[unit].executor == Executor::cpu) {
          plan.units[unit].state = unit >= from && unit <= to ? Tier::disk : Tier::host;
        }
      }
      const PlanScore score = predictor.score(plan);
      if (score.step.count() == 0) continue;
      ++fitted;
      EXPECT_GE(to_seconds(score.step), 0.97 * to_seconds(best.step)) << from << " to " << to;
    }
  }
  EXPECT_GT(fitted, 0);
}

TEST(DiskSearch, PinnedUnitsAreTheOnesOnTheDisk) {
  const Job job = tiny_job();
  SearchSettings settings = quick_search();
  settings.pins = [](Plan& plan) {
    plan.units[2].state = Tier::disk;
    plan.units[2].executor = Executor::cpu;
  };
  const auto found = search(Predictor(job, disk_machine(), {}), settings);
  ASSERT_TRUE(std::holds_alternative<Planned>(found));
  const Plan& plan = std::get<Planned>(found).best.prediction.plan;
  for (std::size_t unit = 0; unit < plan.units.size(); ++unit) {
    EXPECT_EQ(plan.units[unit].state == Tier::disk, unit == 2);
  }
}

TEST(Remedies, NameTheShareOfLayersOnDisk) {
  const Job job = deep_job();
  ResolvedMachine machine = short_host(job);
  machine.state_on_disk = false;
  const Predictor predictor(job, machine, {}, Residency::host);
  const auto found = search_or_remedy(predictor, {}, quick_search());
  ASSERT_TRUE(std::holds_alternative<Infeasible>(found));
  const Infeasible& infeasible = std::get<Infeasible>(found);
  EXPECT_EQ(infeasible.tier, Tier::host);
  ASSERT_FALSE(infeasible.remedies.empty());
  const Remedy& disk = infeasible.remedies.front();
  EXPECT_NE(disk.what.find("of 12 layers"), std::string::npos) << disk.what;
  EXPECT_NE(disk.what.find("on disk: +"), std::string::npos) << disk.what;
  EXPECT_EQ(disk.setting.rfind("--disk ", 0), 0u) << disk.setting;
  EXPECT_FALSE(disk.changes_bits);
  machine.state_on_disk = true;
  const auto taken = search(Predictor(job, machine, {}, Residency::host), quick_search());
  EXPECT_EQ(std::get<Planned>(taken).best.prediction.step, disk.step);
}

}  // namespace
}  // namespace sluice::planner
