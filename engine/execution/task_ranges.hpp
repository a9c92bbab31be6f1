// Names what each thread does for profilers: an NVTX range a task, in the domain "sluice".
#pragma once

#include <cstdint>
#include <memory>

namespace sluice::engine {

class Program;

/// NVTX ranges by which a profiler shows the task that each thread works on. They cost next to
/// nothing while no profiler is attached, and nothing in builds without CUDA.
class TaskRanges {
 public:
  explicit TaskRanges(const Program& program);
  ~TaskRanges();

  /// The range of one task in the calling thread's row of the profiler: it lasts while this object
  /// lives, in which the thread runs the task or hands it to a device queue.
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
