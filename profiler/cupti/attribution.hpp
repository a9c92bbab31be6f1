// Attribution of kernels, copies and fills to tasks, and the judgement whether it is complete
// enough to calibrate with.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "profiler/cupti/records.hpp"

namespace sluice::profiler::cupti {

/// Activities of the device for one task in one step, summed up.
struct TaskActivity {
  TaskKey key;
  std::chrono::steady_clock::time_point start,
      end;           ///< Start of the task's first activity, and end of the one that ended last.
  Duration busy{0};  ///< Time in which at least one of the task's activities ran.
  Duration gaps{0};  ///< Time between the task's activities: end - start - busy.
  /// Sums of the activities' durations by kind; together they may exceed `busy`, because activities
  /// may overlap.
  Duration kernel{0}, copy{0}, fill{0};
  std::size_t activities = 0;
};

/// Kernels, copies or fills of one name that belong to no task.
struct Unattributed {
  std::string name;
  Duration time{0};
  std::size_t count = 0;
};

struct Attribution {
  /// What the device did for each task, sorted by step, then task.
  std::vector<TaskActivity> tasks;
  /// Activities that belong to no task, by name, those with most time first.
  std::vector<Unattributed> unattributed;
  /// Sums of the durations of kernels, copies and fills with a task, and of those without.
  Duration attributed_time{0}, unattributed_time{0};
  std::size_t activities = 0;  ///< Number of activities; duplicates count once.
  std::size_t duplicates = 0;  ///< Number of records left out because they equal another one.
  /// Number of activities whose correlation id has tags of two different tasks.
  std::size_t ambiguous = 0;
  /// Number of activities without a start and an end, or that end before they start.
  std::size_t untimed = 0;
  std::size_t dropped = 0;  ///< Number of records that CUPTI dropped (RecordSet::dropped).
  std::size_t unread = 0;   ///< Number of records that could not be read (RecordSet::unread).
  /// Time that CUPTI and the driver took for themselves, summed over all threads.
  Duration overhead{0};
  /// Seconds on the host's clock per second on the device's (ClockMap::rate).
  double clock_rate = 1;

  /// Share (0 to 1) of the time of all kernels, copies and fills that has no task; zero where there
  /// are none.
  [[nodiscard]] double unattributed_share() const;
  /// What the device did for the task `key`; null where it did nothing.
  [[nodiscard]] const TaskActivity* find(TaskKey key) const;
};

/// Attributes activities to tasks: an activity of any stream belongs to the task whose tag has its
/// correlation id. Depends on its argument alone; records may come in any order, twice, or without
/// their tag.
[[nodiscard]] Attribution attribute(const RecordSet& records);

/// Largest share (0 to 1) of kernel and copy time that may lack a task where the times are used for
/// calibration.
inline constexpr double kMostUnattributed = 0.01;

/// Why these times may not be used for calibration, in one line with the numbers. None where they
/// may: nothing was dropped, unread or untimed, the device did something, no more than
/// kMostUnattributed of its time lacks a task, and the clocks agree.
[[nodiscard]] std::optional<std::string> why_unfit(const Attribution& attribution);

}  // namespace sluice::profiler::cupti
