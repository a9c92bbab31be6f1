// Which task each kernel, copy and fill was for, and whether enough is known to calibrate with it.
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
      end;           ///< First start and last end of its activities.
  Duration busy{0};  ///< Some activity ran: their union, so that side streams count once.
  Duration gaps{0};  ///< end - start - busy: between kernels.
  Duration kernel{0}, copy{0}, fill{0};  ///< Sums; may exceed busy.
  std::size_t activities = 0;
};

/// Activities of one name that no task claims.
struct Unattributed {
  std::string name;
  Duration time{0};
  std::size_t count = 0;
};

struct Attribution {
  std::vector<TaskActivity> tasks;                    ///< By step, then task.
  std::vector<Unattributed> unattributed;             ///< Most time first.
  Duration attributed_time{0}, unattributed_time{0};  ///< Sums over kernels, copies and fills.
  std::size_t activities = 0;                         ///< That differ from each other.
  std::size_t duplicates = 0;  ///< Records equal to another one: counted once.
  std::size_t ambiguous = 0;   ///< Activities whose correlation id has tags of two tasks.
  std::size_t untimed = 0;     ///< Without a start and an end, or ending before they start.
  std::size_t dropped = 0;     ///< RecordSet::dropped.
  std::size_t unread = 0;      ///< RecordSet::unread.
  Duration overhead{0};        ///< CUPTI's and the driver's own, all threads.
  double clock_rate = 1;       ///< ClockMap::rate.

  /// Of the time of all kernels, copies and fills; zero of none.
  [[nodiscard]] double unattributed_share() const;
  /// None where the task has no activity.
  [[nodiscard]] const TaskActivity* find(TaskKey key) const;
};

/// A function of its argument alone: records may come in any order, twice, or without their tag.
/// Activities of any stream go to the task whose tag their correlation id has.
[[nodiscard]] Attribution attribute(const RecordSet& records);

/// Share of kernel and copy time that may lack a task.
inline constexpr double kMostUnattributed = 0.01;

/// Why these records may not calibrate, in one line with the numbers; none where they may: nothing
/// was dropped, unread or untimed, there is something, kMostUnattributed holds and the clocks
/// agree.
[[nodiscard]] std::optional<std::string> why_unfit(const Attribution& attribution);

}  // namespace sluice::profiler::cupti
