#include "cli/training/launched_hosts.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <string>
#include <vector>

#include "engine/launch/network_rate.hpp"
#include "planner/catalogue/catalogue.hpp"
#include "planner/runs/several_hosts.hpp"
#include "sim/error.hpp"
#include "sim/warning.hpp"

namespace sluice::cli {
namespace {

/// How ranks are dealt to hosts.
enum class Dealt {
  in_runs,   ///< As many consecutive ranks to each.
  in_turn,   ///< As many to each, in another order.
  unevenly,  ///< More to one than to another.
};

Dealt dealt(const engine::Gathering& ranks) {
  const std::vector<std::string>& hosts = ranks.hosts();
  const auto local = static_cast<std::size_t>(ranks.local_size());
  const std::set<std::string> names(hosts.begin(), hosts.end());
  const bool even = std::ranges::all_of(names, [&](const std::string& name) {
    return static_cast<std::size_t>(std::ranges::count(hosts, name)) == local;
  });
  if (!even) return Dealt::unevenly;
  for (std::size_t rank = 0; rank < hosts.size(); ++rank) {
    if (hosts[rank] != hosts[rank / local * local]) return Dealt::in_turn;
  }
  return Dealt::in_runs;
}

/// Whether NCCL moves the bytes between ranks.
bool uses_nccl(const planner::RunConfig& config) {
  return planner::find_machine(config.machine, config.backend).device == planner::DeviceKind::cuda;
}

/// Whether NCCL moves bytes between hosts by InfiniBand cards, where there are some.
bool may_use_cards(const planner::RunConfig& config) {
  const auto without = engine::own_variables()("NCCL_IB_DISABLE");
  if (without && *without != "0") return false;
  return uses_nccl(config);
}

/// Bytes/s that a rank receives of an exchange through NCCL's sockets at most, with its own
/// settings. Source: two hosts of two GPUs each over loopback, whose TCP carries 9.2 GB/s
/// (experiments/results/current/four-gpus-as-two-hosts).
constexpr double kSocketsOfRank = 1.75e9;

/// The rate between hosts as NCCL's sockets carry it: `rate`, or their limit where that is lower.
engine::NetworkRate through_sockets(engine::NetworkRate rate, const engine::Gathering& ranks) {
  if (rate.from == engine::NetworkRate::From::cards) return rate;
  rate.bytes_per_second = std::min(rate.bytes_per_second, kSocketsOfRank * ranks.local_size());
  return rate;
}

std::string basis_of(engine::NetworkRate::From from) {
  using From = engine::NetworkRate::From;
  switch (from) {
    case From::cards:
      return "0.96 of what the system says of the hosts' InfiniBand cards";
    case From::measurement:
      return "measured before the plan";
    case From::interface:
      return "as the system says of the interface, since ranks did not reach each other to measure";
    case From::nothing:
      break;
  }
  return "a guess, since ranks did not reach each other to measure";
}

}  // namespace

void require_stated_hosts(const planner::RunConfig& config, const engine::Gathering& ranks) {
  const auto stated = config.machine_overrides.find("hosts");
  if (stated == config.machine_overrides.end()) return;
  planner::check_host_setting(stated->first, stated->second);
  if (std::stoi(stated->second) == ranks.host_count()) return;
  throw BadRequest(fmt::format(
      "machine.hosts: is {}, and the launch has ranks on {} host{}: leave machine.hosts out, for a "
      "launch knows its hosts",
      stated->second, ranks.host_count(), ranks.host_count() == 1 ? "" : "s"));
}

void join_hosts(planner::RunConfig& config, const engine::Gathering& ranks) {
  auto& values = config.machine_overrides;
  const int hosts = ranks.host_count();
  values.erase("hosts");
  if (hosts == 1) return;
  const bool is_first = ranks.world().rank == 0;
  const Dealt how = dealt(ranks);
  if (how == Dealt::unevenly) {
    // No plan shares weights among so many ranks here and so many there.
    config.plan_overrides.insert({"gather", "fabric"});
    if (is_first) {
      sim::note(
          "launch: hosts have different numbers of ranks, so gradients are exchanged among all and "
          "predictions leave the network out: start as many ranks on each host");
    }
    return;
  }
  values["hosts"] = std::to_string(hosts);
  if (how == Dealt::in_turn) {
    config.plan_overrides.insert({"hosts", "1"});
    if (is_first) {
      sim::note(
          "launch: ranks are dealt to the hosts in turn, so gradients are exchanged among all and "
          "cross the network once a rank: give each host consecutive ranks (srun "
          "--distribution=block, mpirun --map-by slot)");
    }
  }
  if (values.contains("nic")) return;
  const engine::NetworkRate found =
      engine::network_rate(ranks, {.uses_cards = may_use_cards(config)});
  const engine::NetworkRate rate = uses_nccl(config) ? through_sockets(found, ranks) : found;
  values["nic"] = fmt::format("{} B/s", rate.bytes_per_second);
  if (!is_first) return;
  sim::note(fmt::format(
      "launch: plan and predictions take {:g} GB/s between hosts, {}{}; machine.nic states it",
      rate.bytes_per_second / 1e9,
      rate.bytes_per_second < found.bytes_per_second
          ? fmt::format("as NCCL's sockets carry it, of {:g} GB/s ", found.bytes_per_second / 1e9)
          : "",
      basis_of(rate.from)));
}

}  // namespace sluice::cli
