#include "planner/buying/build_candidates.hpp"

#include <algorithm>
#include <tuple>

#include "planner/effort/parallel_for.hpp"

namespace sluice::planner {
namespace {

/// Share of the host memory that a job is known to need without drives, less than which it is taken
/// to need with them.
constexpr double kSurelyNeeded = 0.9;

}  // namespace

BuildCandidates::BuildCandidates(const std::vector<BuildGroup>& groups,
                                 const std::function<Seconds(const BuildOffer&)>& bound,
                                 const BuildRoom& known, std::int64_t threads) {
  for (const BuildGroup& group : groups) {
    CandidateGroup mine{.gpu = group.gpu};
    for (const BuildOffer& offer : group.offers) {
      BuildCandidate one{.offer = &offer, .device = find_gpu(offer.parts.gpu).memory};
      one.room = offer.memory;
      if (offer.lends_drives) one.room += known.lent ? known.lent(offer) : offer.drives;
      if (one.room + one.device * offer.gpus < known.needed) one.state = BuildState::ruled_out;
      mine.candidates.push_back(one);
    }
    groups_.push_back(std::move(mine));
  }
  parallel_for(groups_.size(), threads, [&](std::size_t i) { find_bounds(groups_[i], bound); });
  for (std::size_t g = 0; g < groups_.size(); ++g) find_anchor(g);
}

/// Computes bounds of those builds of which no other has as much of everything, and gives each
/// build the largest of a build that has no less.
void BuildCandidates::find_bounds(CandidateGroup& group,
                                  const std::function<Seconds(const BuildOffer&)>& bound) {
  std::vector<const BuildOffer*> most;
  for (const BuildCandidate& one : group.candidates) {
    const auto has_less = [&](const BuildOffer* other) { return has_no_less(*one.offer, *other); };
    if (std::ranges::any_of(
            most, [&](const BuildOffer* other) { return has_no_less(*other, *one.offer); })) {
      continue;
    }
    std::erase_if(most, has_less);
    most.push_back(one.offer);
  }
  group.bound = Seconds(std::numeric_limits<double>::infinity());
  for (const BuildOffer* offer : most) {
    const Seconds found = bound(*offer);
    group.bound = std::min(group.bound, found);
    for (BuildCandidate& one : group.candidates) {
      if (has_no_less(*offer, *one.offer)) one.lower = std::max(one.lower, found);
    }
  }
}

void BuildCandidates::find_anchor(std::size_t g) {
  const CandidateGroup& group = groups_[g];
  const auto amount = [](const BuildOffer& offer) {
    return std::tuple(offer.memory_rate.count(), offer.memory.count(), offer.cpu_rate, -offer.usd);
  };
  for (std::size_t i = 0; i < group.candidates.size(); ++i) {
    const BuildOffer& offer = *group.candidates[i].offer;
    Anchor& anchor = anchors_.try_emplace(group.gpu, Anchor{.place = {g, i}}).first->second;
    ++anchor.builds;
    const BuildOffer& most = *at(anchor.place).offer;
    if (offer.lends_drives) continue;
    if (most.lends_drives || amount(offer) > amount(most)) anchor.place = {g, i};
  }
}

BuildPlace BuildCandidates::anchor_before(const BuildPlace& place) const {
  constexpr std::size_t kMany = 8;
  const Anchor& anchor = anchors_.at(groups_[place.first].gpu);
  const bool is_open = at(anchor.place).state == BuildState::open;
  return anchor.builds > kMany && is_open ? anchor.place : place;
}

std::optional<bool> BuildCandidates::is_short(const std::string& gpu, Bytes memory) const {
  const auto known = known_.find(gpu);
  if (known == known_.end()) return std::nullopt;
  if (memory < known->second.needed) return true;
  if (memory >= known->second.enough) return false;
  return std::nullopt;
}

double BuildCandidates::drives_take(const CandidateGroup& group, const BuildCandidate& one) const {
  // What lies on drives is read and written while passes run, and seldom quite beside them.
  constexpr double kBesidePasses = 1.2;
  const auto known = known_.find(group.gpu);
  if (!one.offer->lends_drives || known == known_.end()) return 0;
  const Bytes lacking = std::max(Bytes(0), known->second.needed - one.offer->memory);
  const double rate = std::min(one.offer->drive_rate.count(), one.offer->drive_write_rate.count());
  return rate > 0 ? kBesidePasses * static_cast<double>(lacking.count()) / rate : 0;
}

double BuildCandidates::guess(const CandidateGroup& group, const BuildCandidate& one) const {
  constexpr double kUnknown = 1.05;
  const auto known = known_.find(group.gpu);
  const double ratio = known == known_.end() ? kUnknown : known->second.ratio.value_or(kUnknown);
  const double passes = std::max(group.bound.count() * ratio, one.lower.count());
  return std::max(passes, drives_take(group, one));
}

void BuildCandidates::learn(const BuildPlace& place, const BuildTrial& trial) {
  const CandidateGroup& group = groups_[place.first];
  BuildCandidate& planned = at(place);
  const BuildOffer& offer = *planned.offer;
  planned.state = BuildState::planned;
  Known& known = known_[group.gpu];
  if (!offer.lends_drives && trial.needed) raise_needed(planned, *trial.needed);
  raise_lower(group.gpu, offer, trial);
  if (!trial.step) {
    // Where drives do not help, faster memory does not either.
    if (offer.lends_drives) known.lent_in_vain.push_back(&offer);
    if (!trial.needed) known.lacked_other.push_back(&offer);
    return;
  }
  if (!offer.lends_drives) known.enough = std::min(known.enough, offer.memory);
  // Where drives set the step, it says nothing of builds with others.
  const double least = std::max(group.bound.count(), drives_take(group, planned));
  const double above = trial.step->count() / least;
  known.ratio = std::min(known.ratio.value_or(above), above);
}

/// Notes the host memory that the job needs on a build, for all GPUs that have as much memory or
/// less: beside them it needs no less.
void BuildCandidates::raise_needed(const BuildCandidate& planned, Bytes needed) {
  for (const CandidateGroup& group : groups_) {
    const BuildCandidate& first = group.candidates.front();
    const bool has_no_more =
        first.offer->gpus == planned.offer->gpus && first.device <= planned.device;
    Known& known = known_[group.gpu];
    if (!has_no_more || needed <= known.needed) continue;
    known.needed = needed;
    raise_for_drives(group.gpu, needed);
  }
}

/// Raises the lower bounds of the GPU's builds that have no more than one that was planned, and
/// rules them out where the job does not fit there.
void BuildCandidates::raise_lower(const std::string& gpu, const BuildOffer& planned,
                                  const BuildTrial& trial) {
  for (CandidateGroup& group : groups_) {
    if (group.gpu != gpu) continue;
    for (BuildCandidate& one : group.candidates) {
      if (one.state != BuildState::open && one.state != BuildState::poor) continue;
      // Drives help only where memory is short: a build with more memory that lends none is no
      // slower if the job fits on it.
      BuildOffer like = *one.offer;
      if (!planned.lends_drives && trial.step) like.lends_drives = false;
      if (planned.lends_drives != like.lends_drives || !has_no_less(planned, like)) continue;
      if (!trial.step) one.state = BuildState::ruled_out;
      if (trial.step) one.lower = std::max(one.lower, *trial.step);
    }
  }
}

void BuildCandidates::raise_for_drives(const std::string& gpu, Bytes needed) {
  for (CandidateGroup& group : groups_) {
    if (group.gpu != gpu) continue;
    for (BuildCandidate& one : group.candidates) {
      if (!one.offer->lends_drives) continue;
      const double lacking = kSurelyNeeded * static_cast<double>(needed.count()) -
                             static_cast<double>(one.offer->memory.count());
      const double rate =
          std::min(one.offer->drive_rate.count(), one.offer->drive_write_rate.count());
      if (lacking > 0 && rate > 0) one.lower = std::max(one.lower, Seconds(lacking / rate));
    }
  }
}

/// Whether the GPU is known to lack something else than host memory on a build with no less.
bool BuildCandidates::lacks_more(const std::string& gpu, const BuildOffer& offer) const {
  const auto known = known_.find(gpu);
  if (known == known_.end()) return false;
  const auto has_less = [&](const BuildOffer* failed) {
    return failed->memory >= offer.memory &&
           (!offer.lends_drives || failed->drives >= offer.drives);
  };
  if (offer.lends_drives && std::ranges::any_of(known->second.lent_in_vain, has_less)) return true;
  return std::ranges::any_of(known->second.lacked_other, [&](const BuildOffer* failed) {
    return failed->memory >= offer.memory;
  });
}

bool BuildCandidates::has_lent_in_vain(const std::string& gpu) const {
  const auto known = known_.find(gpu);
  return known != known_.end() && !known->second.lent_in_vain.empty();
}

Bytes BuildCandidates::least_needed() const {
  std::optional<Bytes> least;
  for (const auto& [gpu, known] : known_) {
    if (known.needed > Bytes(0)) least = std::min(least.value_or(known.needed), known.needed);
  }
  return least.value_or(Bytes(0));
}

bool BuildCandidates::is_no_use(const CandidateGroup& group, const BuildCandidate& one) const {
  const auto lacking = is_short(group.gpu, one.offer->memory);
  const bool is_other_kind = lacking.has_value() && one.offer->lends_drives != *lacking;
  return is_other_kind || lacks_more(group.gpu, *one.offer) || lacks_room(group.gpu, one);
}

/// Whether memory and drives together are less than what the job needs beside the GPU.
bool BuildCandidates::lacks_room(const std::string& gpu, const BuildCandidate& one) const {
  const auto known = known_.find(gpu);
  if (known == known_.end() || !one.offer->lends_drives) return false;
  const double needed = kSurelyNeeded * static_cast<double>(known->second.needed.count());
  return static_cast<double>(one.room.count()) < needed;
}

}  // namespace sluice::planner
