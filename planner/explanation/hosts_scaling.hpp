// How steps scale with the number of hosts, from how many tokens a second one pays, and which NICs
// would do.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "planner/effort/deadline.hpp"
#include "planner/requests/request.hpp"

namespace sluice::planner {

/// A run's step on a number of hosts.
struct HostsPoint {
  std::int64_t hosts = 1, devices = 1;
  std::int64_t batch_size = 0;  ///< Sequences of a step.
  /// Time of the step; none where the run does not fit, or its devices cannot share its steps.
  std::optional<Duration> step = {};
  double tokens_per_s = 0;
  /// Tokens/s over those of the first point, a host of each.
  double efficiency = 0;
  std::string limit = {};  ///< The lane that is busy for longest.
  double limit_share = 0;  ///< For how much of the step it is.
};

/// What NICs of another kind give the run's hosts.
struct NicPoint {
  std::string nic;   ///< NICs of each host, as machine.nic takes them.
  double speed = 0;  ///< Tokens/s over those of one host.
  Duration step{0};
};

struct HostsScaling {
  std::string machine;  ///< Name of one host.
  std::string nic;      ///< NICs of a host, as the run states them.
  std::int64_t seq_len = 0;
  /// Points with the run's batch on any number of hosts, and with the run's batch for each host.
  std::vector<HostsPoint> strong = {}, weak = {};
  /// Hosts of which the rest speaks: the fewest of several in the list.
  std::int64_t hosts = 2;
  /// The fewest tokens a step, of those tried, at which they do more than one host, and nine tenths
  /// of their number times as much; none where they do not at any.
  std::optional<std::int64_t> pays_from = {}, scales_from = {};
  std::int64_t most_tried = 0;      ///< The most tokens a step that were tried.
  std::vector<NicPoint> nics = {};  ///< With the run's batch, slowest NICs first.
};

/// What is varied, and how long.
struct ScalingOptions {
  std::vector<std::int64_t> hosts = {1, 2,
                                     4};  ///< Ascending numbers of hosts; the first is the base.
  Deadline deadline = {};
  std::function<void(const std::string& what)> progress = [](const std::string&) {};
};

/// Scales `run`, whose config states the NICs (machine.nic) and as many devices as its hosts have.
/// All points have the job's groups or, where the run states none, as many as the most hosts that
/// can share its steps have devices, so that they compute the same bits. Steps are those of
/// searches with little effort (kCompareEffort); on other NICs, those of the plans found on the
/// run's own. The speed is taken to grow with the tokens of a step. Throws BadRequest where no NIC
/// is stated.
[[nodiscard]] HostsScaling hosts_scaling(const Request& run, const ScalingOptions& options);

/// The scaling as JSON text (docs/schemas/predict.schema.json, "scaling").
[[nodiscard]] std::string to_json_text(const HostsScaling& scaling);

/// The first NICs of the scaling with which the hosts do at least `share` of their number times
/// what one does; none where none do.
[[nodiscard]] const NicPoint* nic_that_does(const HostsScaling& scaling, double share);

}  // namespace sluice::planner
