// Attribution of kernels, copies and fills to tasks, and whether it is complete enough to calibrate
// with.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "profiler/cupti/records.hpp"

namespace sluice::profiler::cupti {

/// What the device did for one task of one step.
struct TaskActivity {
  TaskKey key;
  std::chrono::steady_clock::time_point start,
      end;           ///< First start and last end of the task's activities.
  Duration busy{0};  ///< Time for which some activity ran; overlapping ones count once.
  Duration gaps{0};  ///< Time between activities: end - start - busy.
  /// Sums over activities by kind; together they may exceed `busy`.
  Duration kernel{0}, copy{0}, fill{0};
  std::size_t activities = 0;
};

/// Activities of one name that no task claims.
struct Unattributed {
  std::string name;
  Duration time{0};
  std::size_t count = 0;
};

struct Attribution {
  std::vector<TaskActivity> tasks;         ///< Activities of tasks, by step, then task.
  std::vector<Unattributed> unattributed;  ///< Activities without a task, most time first.
  Duration attributed_time{0}, unattributed_time{0};  ///< Sums over kernels, copies and fills.
  std::size_t activities = 0;                         ///< Number of activities, without duplicates.
  std::size_t duplicates = 0;  ///< Records equal to another one, which count once.
  std::size_t ambiguous = 0;   ///< Activities whose correlation id has tags of two tasks.
  /// Activities without a start and an end, or that end before they start.
  std::size_t untimed = 0;
  std::size_t dropped = 0;  ///< Records that CUPTI dropped (RecordSet::dropped).
  std::size_t unread = 0;   ///< Records that could not be read (RecordSet::unread).
  Duration overhead{0};     ///< Time that CUPTI and the driver took themselves, over all threads.
  double clock_rate = 1;    ///< Host seconds per device second (ClockMap::rate).

  /// Share of the time of all kernels, copies and fills that has no task; zero where there are
  /// none.
  [[nodiscard]] double unattributed_share() const;
  /// The activity of a task; null where it has none.
  [[nodiscard]] const TaskActivity* find(TaskKey key) const;
};

/// Attributes activities to tasks: an activity of any stream belongs to the task whose tag its
/// correlation id has. Depends on its argument alone; records may come in any order, twice, or
/// without their tag.
[[nodiscard]] Attribution attribute(const RecordSet& records);

/// Largest share of kernel and copy time that may lack a task.
inline constexpr double kMostUnattributed = 0.01;

/// Why these records may not calibrate, in one line with the numbers. None where they may: nothing
/// was dropped, unread or untimed, there is something, kMostUnattributed holds and the clocks
/// agree.
[[nodiscard]] std::optional<std::string> why_unfit(const Attribution& attribution);

}  // namespace sluice::profiler::cupti
