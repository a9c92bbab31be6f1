#include "engine/poll.hpp"

#include <sys/prctl.h>

namespace sluice::engine {

void sleep_precisely() { prctl(PR_SET_TIMERSLACK, 1UL, 0UL, 0UL, 0UL); }

}  // namespace sluice::engine
