// Names what each thread does for profilers: an NVTX range a task, in the domain "sluice".
#pragma once

#include <cstdint>
#include <memory>

namespace sluice::engine {

class Program;

/// Costs next to nothing while no profiler is attached, nothing in builds without CUDA.
class TaskRanges {
 public:
  explicit TaskRanges(const Program& program);
  ~TaskRanges();

  /// The task runs, or is handed to its queue, while the scope lives.
  class Scope {
   public:
    Scope(const TaskRanges& ranges, std::uint32_t task);
    ~Scope();
    Scope(const Scope&) = delete;  // Ranges nest by lifetime.
    Scope& operator=(const Scope&) = delete;

   private:
    const TaskRanges& ranges_;
  };

 private:
  struct Names;
  std::unique_ptr<Names> names_;
};

}  // namespace sluice::engine
