// Passes over a model's numbers that a program makes on the CPU between its steps.
#pragma once

#include <cstdint>
#include <string>

namespace sluice::planner {

/// A pass of the CPU over numbers of the model between steps, such as a gradient norm that the CPU
/// computes. It runs on the lane of CPU updates, one after another with these. A plan with one is
/// predicted and cannot be executed.
struct HostPass {
  /// When the pass runs.
  enum class Moment {
    before_update,  ///< Once all gradients are on the host, before the first update.
    after_update,   ///< After the last update; the next step waits for it.
  };
  /// Units over whose parameters the pass goes: all, or (`ends`) the embedding and the head.
  enum class Over { all, ends };
  /// CPU threads that take part.
  enum class Threads {
    one,
    all,  ///< The plan's threads, those of the optimizer.
  };
  std::string name;  ///< Name in tasks and plan files, such as "norm".
  Moment moment = Moment::before_update;
  Over over = Over::all;  ///< Units over whose parameters the pass goes.
  Threads threads = Threads::all;
  /// Bytes read and written for each parameter. A pass takes as long as an update of so many bytes
  /// by the same threads.
  double bytes_per_parameter = 0;
  friend bool operator==(const HostPass&, const HostPass&) = default;
};

const char* to_string(HostPass::Moment moment);
const char* to_string(HostPass::Over over);
const char* to_string(HostPass::Threads threads);

/// Throws BadRequest, beginning with `where`, unless the name is of lower-case letters, digits and
/// underscores and the bytes of a parameter are above 0 and at most 1024.
void validate(const HostPass& pass, const std::string& where);

}  // namespace sluice::planner
