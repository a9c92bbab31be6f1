// Builds that a search over builds has still to plan, with what is known of each GPU's memory.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "planner/buying/build_space.hpp"

namespace sluice::planner {

/// Outcome of planning a job on one build: its step, or what the build lacks.
struct BuildTrial {
  std::optional<Seconds> step;  ///< The step; none where the job does not fit.
  /// Host memory that the job needs on builds of this GPU that lend no drives; none where host
  /// memory is not what is short.
  std::optional<Bytes> needed = {};
};

/// The room that a job needs and builds have, as known before anything is planned.
struct BuildRoom {
  /// Bytes of its drives that a build lends to plans; may be empty: then all of them.
  std::function<Bytes(const BuildOffer&)> lent = {};
  /// Bytes that host memory, the GPUs' memory and what is lent of the drives must have together.
  Bytes needed{0};
};

/// What is to become of a build; `poor` is left out unplanned, by a guess of its step.
enum class BuildState { open, planned, ruled_out, poor };

struct BuildCandidate {
  const BuildOffer* offer;
  Seconds lower{0};  ///< A time that no step on the build is below.
  Bytes device{0};   ///< Memory of one of its GPUs.
  Bytes room{0};     ///< Host memory, and what the build lends of its drives.
  BuildState state = BuildState::open;
};

/// Candidates of one GPU on one CPU's board, cheapest first.
struct CandidateGroup {
  std::string gpu;
  Seconds bound{0};  ///< Bound of the group's builds with most of everything.
  std::vector<BuildCandidate> candidates = {};
};

/// Place of a candidate: its group, and its number there.
using BuildPlace = std::pair<std::size_t, std::size_t>;

/// All candidates of a search, with lower bounds of their steps. A bound of a build is
///
///   lower = max(bound of the job there, step of a build of the GPU with no less of anything,
///               (0.9 needed - memory) / rate of the drives)
///
/// where `needed` is the host memory that the job is known to need beside the GPU, and the rate is
/// that at which the drives are read, and that at which they are written: what lies on drives
/// crosses them both ways in each step.
class BuildCandidates {
 public:
  /// `groups` must outlive the object. `bound` is called from several threads at a time.
  /// Builds that have less than `room.needed` are ruled out.
  BuildCandidates(const std::vector<BuildGroup>& groups,
                  const std::function<Seconds(const BuildOffer&)>& bound, const BuildRoom& room,
                  std::int64_t threads);

  [[nodiscard]] const std::vector<CandidateGroup>& groups() const { return groups_; }
  [[nodiscard]] BuildCandidate& at(const BuildPlace& place) {
    return groups_[place.first].candidates[place.second];
  }
  [[nodiscard]] const BuildCandidate& at(const BuildPlace& place) const {
    return groups_[place.first].candidates[place.second];
  }

  /// Notes what planning the candidate found: marks it as planned, raises lower bounds of builds
  /// with no more of anything, and rules out those that then cannot fit.
  void learn(const BuildPlace& place, const BuildTrial& trial);
  /// Whether host memory is known to be short on the build, or known to be enough.
  [[nodiscard]] std::optional<bool> is_short(const std::string& gpu, Bytes memory) const;
  /// The least host memory that is known to be needed beside any GPU; 0 where none is known.
  [[nodiscard]] Bytes least_needed() const;
  /// Whether a build of the GPU lent its drives and the job did not fit.
  [[nodiscard]] bool has_lent_in_vain(const std::string& gpu) const;
  /// Whether the build is known not to fit, or to lend drives for nothing.
  [[nodiscard]] bool is_no_use(const CandidateGroup& group, const BuildCandidate& one) const;
  /// A guess of the candidate's step, by which builds are put in order: as far above its bound as
  /// others of the GPU are, and with what memory lacks read from the drives and written to them.
  [[nodiscard]] double guess(const CandidateGroup& group, const BuildCandidate& one) const;
  /// The place of the GPU's build with most of everything where the GPU has many builds and this
  /// one is still open, since its step bounds those of all others; else `place`.
  [[nodiscard]] BuildPlace anchor_before(const BuildPlace& place) const;

 private:
  /// Host memory of a GPU's builds: less than `needed` is known to be short, `enough` is known not
  /// to be.
  struct Known {
    Bytes needed{0};
    Bytes enough{std::numeric_limits<std::int64_t>::max()};
    /// Builds that lent drives in vain, on whichever board, and builds that lacked something else
    /// than host memory, for which drives are of no help.
    std::vector<const BuildOffer*> lent_in_vain = {}, lacked_other = {};
    std::optional<double> ratio = {};  ///< Least ratio of a step to its group's bound.
  };
  /// The build of a GPU that has most of everything.
  struct Anchor {
    BuildPlace place;
    std::size_t builds = 0;  ///< Number of the GPU's builds.
  };

  static void find_bounds(CandidateGroup& group,
                          const std::function<Seconds(const BuildOffer&)>& bound);
  /// A guess of the seconds that a step's reads and writes of drives take on the build; 0 where it
  /// lends none, or nothing is known of what the job needs.
  [[nodiscard]] double drives_take(const CandidateGroup& group, const BuildCandidate& one) const;
  void find_anchor(std::size_t group);
  void raise_needed(const BuildCandidate& planned, Bytes needed);
  void raise_lower(const std::string& gpu, const BuildOffer& planned, const BuildTrial& trial);
  void raise_for_drives(const std::string& gpu, Bytes needed);
  [[nodiscard]] bool lacks_more(const std::string& gpu, const BuildOffer& offer) const;
  [[nodiscard]] bool lacks_room(const std::string& gpu, const BuildCandidate& one) const;

  std::vector<CandidateGroup> groups_;
  std::map<std::string, Anchor> anchors_;  ///< Anchors by the name of the GPU.
  std::map<std::string, Known> known_;     ///< What is known, by the name of the GPU.
};

}  // namespace sluice::planner
