#include "planner/buying/rows.hpp"

#include <algorithm>
#include <mutex>

#include "planner/buying/build_rows.hpp"
#include "planner/buying/build_space.hpp"
#include "planner/buying/rented_rows.hpp"
#include "planner/buying/row_maker.hpp"
#include "planner/buying/several_rows.hpp"
#include "planner/buying/upgrades.hpp"
#include "planner/catalogue/catalogue.hpp"
#include "planner/catalogue/cluster.hpp"
#include "planner/catalogue/counted_machine.hpp"
#include "planner/catalogue/machine_list.hpp"
#include "planner/catalogue/memory_kits.hpp"
#include "planner/costs/fp8_work.hpp"
#include "planner/effort/parallel_for.hpp"
#include "sim/units_text.hpp"

namespace sluice::planner {
namespace {

class RowMaker {
 public:
  RowMaker(const RunConfig& config, const BuyRequest& request, PlanFinder& finder,
           bool builds_are_searched)
      : config_(config),
        request_(request),
        finder_(finder),
        builds_are_searched_(builds_are_searched) {}

  /// The row of a machine and, where it lacks host memory, the row of the same machine with the
  /// smallest sufficient kit.
  [[nodiscard]] std::vector<BuyRow> rows_of(const std::string& machine) const {
    std::vector<BuyRow> rows;
    if (gpus_named(machine) > 1) {
      return {row_of_several(config_, request_, finder_, machine)};
    }
    if (const auto share = rented_share(config_, request_, machine)) {
      return {make_rented_row(config_, request_, finder_, machine, *share).row};
    }
    const MadeRow made = make_row(config_, request_, finder_, machine, RowKind::machine);
    rows.push_back(made.row);
    const std::optional<Composition> parts = find_composition(machine);
    const std::optional<Bytes> needed = made.shortage ? host_needed(*made.shortage) : std::nullopt;
    if (!needed || !parts || config_.limits.host) return rows;
    if (made.shortage->tier == Tier::hbm) {
      rows[0].limit = "hbm and host short by " + format_bytes(made.shortage->short_by);
    }
    auto larger = with_memory_for(*parts, *needed);
    if (larger) {
      rows[0].remedy = "--ram \"" + to_text(larger->ram) + "\"";
    } else {
      rows[0].remedy = "its board takes too little memory";
      larger = with_board_for(*parts, *needed);
      if (!larger) return rows;
      rows[0].remedy += ": --cpu " + larger->cpu + " --ram \"" + to_text(larger->ram) + "\"";
    }
    // Builds are more of a card than the same host with more memory; nodes are no builds.
    if (builds_are_searched_ && find_gpu(parts->gpu).node_gpus == 1) return rows;
    BuyRow more = make_row(config_, request_, finder_, to_text(*larger), RowKind::more_memory).row;
    if (more.fits) rows.push_back(std::move(more));
    return rows;
  }

 private:
  const RunConfig& config_;
  const BuyRequest& request_;
  PlanFinder& finder_;
  bool builds_are_searched_;
};

/// Adds the request's numbers of hosts of each machine that is named.
void add_clusters(std::vector<std::string>& machines, const BuyRequest& request) {
  const std::size_t named = request.machines.size();
  for (std::size_t i = 0; i < named; ++i) {
    if (cluster_named(request.machines[i])) continue;
    for (const std::int64_t hosts : request.hosts) {
      machines.push_back(
          to_text(Cluster{.hosts = hosts, .machine = request.machines[i], .nic = request.nic}));
    }
  }
}

}  // namespace

ComparedRows buy_rows(const RunConfig& config, const BuyRequest& request, PlanFinder& finder) {
  std::vector<std::string> machines = request.machines;
  std::vector<BuildGroup> groups = machines.empty()
                                       ? build_groups(request.prices, shared_counts(config))
                                       : std::vector<BuildGroup>{};
  std::erase_if(groups, [&config](const BuildGroup& group) {
    const std::string gpu = counted_machine(group.gpu).machine;
    return !has_products(config.compute, find_gpu(gpu).architecture);
  });
  if (machines.empty()) {
    for (const CatalogueMachine& machine : catalogue_machines()) {
      // Builds stand for machines that have no price of their own.
      // Machines on which the engine does not run are rows where they are named or have a price.
      const bool is_priced = request.prices.machines.contains(machine.name);
      const std::string& gpu = find_build(machine.name)->parts.gpu;
      if (is_priced || (groups.empty() && runs_the_engine(find_gpu(gpu).architecture))) {
        machines.push_back(machine.name);
      }
    }
    for (std::string& node : priced_nodes(request.prices)) machines.push_back(std::move(node));
    std::erase_if(machines, [&config](const std::string& machine) {
      return !has_products(config.compute, find_machine(machine, config.backend).architecture);
    });
  }
  // The machine that the request is about is a row too.
  const bool named = request.owned || config.machine != RunConfig().machine;
  if (named && std::ranges::find(machines, config.machine) == machines.end()) {
    machines.push_back(config.machine);
  }
  add_clusters(machines, request);
  for (const std::string& machine : machines) {
    (void)find_machine(machine, config.backend);
  }
  const RowMaker maker(config, request, finder, !groups.empty());
  // Builds first: they are most of the answer, and what is found on them is tried on machines.
  ComparedRows searched;
  if (!groups.empty()) searched = build_rows(config, request, finder, groups);
  std::vector<std::vector<BuyRow>> found(machines.size());
  std::mutex mutex;
  std::size_t done = 0;
  // A few at a time: what is found on these is tried on the next.
  constexpr std::size_t kAtATime = 4;
  for (std::size_t first = 0; first < machines.size(); first += kAtATime) {
    const std::size_t count = std::min(kAtATime, machines.size() - first);
    parallel_for(count, request.threads, [&](std::size_t i) {
      const std::string& machine = machines[first + i];
      found[first + i] = maker.rows_of(machine);
      const std::lock_guard lock(mutex);
      if (request.progress) request.progress(++done, machines.size(), machine);
    });
    finder.settle();
  }
  std::vector<BuyRow> rows;
  if (request.machines.empty()) found.push_back(instance_rows(config, request, finder));
  found.push_back(std::move(searched.rows));
  for (std::vector<BuyRow>& some : found) {
    for (BuyRow& row : some) {
      // With more memory one machine may be another of the catalogue.
      if (std::ranges::find(rows, row.machine, &BuyRow::machine) != rows.end()) continue;
      rows.push_back(std::move(row));
    }
  }
  std::stable_sort(rows.begin(), rows.end(), [](const BuyRow& a, const BuyRow& b) {
    if (a.fits != b.fits) return a.fits;
    return a.fits && a.step < b.step;
  });
  return {.rows = std::move(rows), .builds = searched.builds};
}

}  // namespace sluice::planner
