// Passes over a model's numbers that a program makes on the CPU between its steps.
#pragma once

#include <cstdint>
#include <string>

namespace sluice::planner {

/// One pass of the CPU over numbers of the model, one after another with updates and other passes,
/// while the device waits. A plan with one is predicted and cannot be executed.
struct HostPass {
  /// When the pass runs.
  enum class Moment {
    before_update,  ///< Once all gradients are on the host, before the first update.
    after_update,   ///< After the last update; the next step waits for it.
  };
  /// Parameters that the pass goes over, and threads that take part.
  enum class Over { all, ends };
  enum class Threads {
    one,
    all,  ///< The plan's threads, those of the optimizer.
  };
  std::string name;  ///< Name in tasks and plan files, such as "norm".
  Moment moment = Moment::before_update;
  Over over = Over::all;  ///< All units, or the embedding and the head.
  Threads threads = Threads::all;
  /// Bytes read and written for each parameter. A pass takes as long as an update of so many bytes
  /// by the same threads, which the machine's profile tells.
  double bytes_per_parameter = 0;
  friend bool operator==(const HostPass&, const HostPass&) = default;
};

const char* to_string(HostPass::Moment moment);
const char* to_string(HostPass::Over over);
const char* to_string(HostPass::Threads threads);

/// Throws BadRequest, beginning with `where`, for a name or a number of bytes that a pass cannot
/// have.
void validate(const HostPass& pass, const std::string& where);

}  // namespace sluice::planner
