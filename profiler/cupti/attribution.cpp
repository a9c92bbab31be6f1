#include "profiler/cupti/attribution.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <tuple>
#include <unordered_map>

#include "profiler/cupti/clock_map.hpp"

namespace sluice::profiler::cupti {
namespace {

double milliseconds(Duration time) { return 1e3 * to_seconds(time).count(); }

auto order_of(const Activity& a) {
  return std::tie(a.start, a.end, a.correlation, a.stream, a.kind, a.copy, a.bytes, a.name);
}

bool is_timed(const Activity& activity) {
  // Zero is CUPTI's word for an instant it does not know.
  return activity.start != DeviceInstant{} && activity.end >= activity.start;
}

/// The records' activities without duplicates, sorted by start.
std::vector<const Activity*> distinct(const RecordSet& records, Attribution& result) {
  std::vector<const Activity*> activities;
  activities.reserve(records.activities.size());
  for (const Activity& activity : records.activities) activities.push_back(&activity);
  std::sort(activities.begin(), activities.end(),
            [](const Activity* a, const Activity* b) { return order_of(*a) < order_of(*b); });
  const auto end = std::unique(activities.begin(), activities.end(),
                               [](const Activity* a, const Activity* b) { return *a == *b; });
  result.duplicates = static_cast<std::size_t>(activities.end() - end);
  activities.erase(end, activities.end());
  result.activities = activities.size();
  return activities;
}

/// The task of each correlation id; none where two tasks claim it.
using Claims = std::unordered_map<CorrelationId, std::optional<ExternalId>>;

Claims claims_of(const std::vector<Tag>& tags) {
  Claims claims;
  claims.reserve(tags.size());
  for (const Tag& tag : tags) {
    const auto [claim, added] = claims.emplace(tag.correlation, tag.id);
    if (!added && claim->second != tag.id) claim->second = std::nullopt;
  }
  return claims;
}

/// Sums over one task's activities, which are added in the order of their starts.
struct Sum {
  DeviceInstant start, end;
  TaskActivity task;

  void add(const Activity& activity) {
    const Duration time = activity.end - activity.start;
    if (task.activities++ == 0) {
      start = end = activity.start;
    }
    task.busy += std::max(activity.end - std::max(activity.start, end), Duration(0));
    end = std::max(end, activity.end);
    switch (activity.kind) {
      case ActivityKind::kernel:
        task.kernel += time;
        break;
      case ActivityKind::copy:
        task.copy += time;
        break;
      case ActivityKind::fill:
        task.fill += time;
        break;
    }
  }
};

std::string name_of(const Activity& activity) {
  switch (activity.kind) {
    case ActivityKind::copy:
      return "memcpy";
    case ActivityKind::fill:
      return "memset";
    case ActivityKind::kernel:
      break;
  }
  return activity.name.empty() ? "a kernel without a name" : activity.name;
}

std::vector<Unattributed> by_time(const std::map<std::string, Unattributed>& names) {
  std::vector<Unattributed> list;
  list.reserve(names.size());
  for (const auto& [name, one] : names) list.push_back({name, one.time, one.count});
  std::stable_sort(list.begin(), list.end(),
                   [](const Unattributed& a, const Unattributed& b) { return a.time > b.time; });
  return list;
}

}  // namespace

double Attribution::unattributed_share() const {
  const Duration all = attributed_time + unattributed_time;
  return all.count() == 0 ? 0 : to_seconds(unattributed_time) / to_seconds(all);
}

const TaskActivity* Attribution::find(TaskKey key) const {
  const auto at =
      std::lower_bound(tasks.begin(), tasks.end(), key,
                       [](const TaskActivity& task, TaskKey wanted) { return task.key < wanted; });
  return at == tasks.end() || at->key != key ? nullptr : &*at;
}

Attribution attribute(const RecordSet& records) {
  Attribution result;
  result.dropped = records.dropped;
  result.unread = records.unread;
  const Claims claims = claims_of(records.tags);
  std::map<TaskKey, Sum> sums;
  std::map<std::string, Unattributed> unclaimed;
  for (const Activity* activity : distinct(records, result)) {
    if (!is_timed(*activity)) {
      ++result.untimed;
      continue;
    }
    const Duration time = activity->end - activity->start;
    const auto claim = claims.find(activity->correlation);
    if (claim != claims.end() && !claim->second) ++result.ambiguous;
    const auto key =
        claim == claims.end() || !claim->second ? std::nullopt : task_of(*claim->second);
    if (key) {
      sums[*key].add(*activity);
      result.attributed_time += time;
    } else {
      Unattributed& one = unclaimed[name_of(*activity)];
      one.time += time;
      ++one.count;
      result.unattributed_time += time;
    }
  }
  const ClockMap on_host(records.begin, records.end);
  result.clock_rate = on_host.rate();
  for (auto& [key, sum] : sums) {
    sum.task.key = key;
    sum.task.start = on_host(sum.start);
    sum.task.end = on_host(sum.end);
    sum.task.gaps = (sum.end - sum.start) - sum.task.busy;
    result.tasks.push_back(sum.task);
  }
  result.unattributed = by_time(unclaimed);
  for (const Overhead& overhead : records.overheads) {
    result.overhead += std::max(overhead.end - overhead.start, Duration(0));
  }
  return result;
}

std::optional<std::string> why_unfit(const Attribution& found) {
  if (found.dropped > 0) {
    return fmt::format("CUPTI dropped {} records beside the {} it kept: measure fewer steps",
                       found.dropped, found.activities);
  }
  if (found.unread > 0) return fmt::format("{} CUPTI records could not be read", found.unread);
  if (found.untimed > 0) {
    return fmt::format("CUPTI gave no time for {} of {} kernels and copies", found.untimed,
                       found.activities);
  }
  if (found.activities == 0) return "CUPTI saw no kernel and no copy";
  if (found.unattributed_share() > kMostUnattributed) {
    const Unattributed& most = found.unattributed.front();
    return fmt::format(
        "{:.2f} % of kernel and copy time ({:.3f} of {:.3f} ms) belongs to no task, more than "
        "{:.0f} "
        "%; most of it, {:.3f} ms in {}, is {}",
        100 * found.unattributed_share(), milliseconds(found.unattributed_time),
        milliseconds(found.attributed_time + found.unattributed_time), 100 * kMostUnattributed,
        milliseconds(most.time), most.count, most.name);
  }
  if (std::abs(found.clock_rate - 1) > kMostClockSkew) {
    return fmt::format("CUPTI's clock ran at {:.6f} of the CPU's while the run was measured",
                       1 / found.clock_rate);
  }
  return std::nullopt;
}

}  // namespace sluice::profiler::cupti
