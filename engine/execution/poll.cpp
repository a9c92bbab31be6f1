#include "engine/execution/poll.hpp"

#include <pthread.h>
#include <sched.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <unistd.h>

namespace sluice::engine {

void sleep_precisely() { prctl(PR_SET_TIMERSLACK, 1UL, 0UL, 0UL, 0UL); }

Wakes wake_first() {
  sched_param lowest{};
  lowest.sched_priority = sched_get_priority_min(SCHED_FIFO);
  if (pthread_setschedparam(pthread_self(), SCHED_FIFO, &lowest) == 0) return Wakes::at_once;
  constexpr int kNicest = -20;  // Lowest nice value; Linux has one per thread.
  const auto self = static_cast<id_t>(gettid());
  return setpriority(PRIO_PROCESS, self, kNicest) == 0 ? Wakes::before_others : Wakes::as_others;
}

}  // namespace sluice::engine
