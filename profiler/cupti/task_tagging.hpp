// Observer that tells the collector for which task the device is being asked.
#pragma once

#include "engine/execution/observer.hpp"
#include "profiler/cupti/collector.hpp"

namespace sluice::profiler::cupti {

/// Observer that marks calls to the device for `collector` and passes all events on to `next`. Both
/// must outlive it.
class TaskTagging final : public engine::Observer {
 public:
  TaskTagging(engine::Observer& next, Collector& collector) : next_(next), collector_(collector) {}

  void task_ran(const engine::TaskEvent& event) override { next_.task_ran(event); }
  void calls_begin(std::uint32_t task, std::int64_t step) override {
    next_.calls_begin(task, step);
    collector_.begin_calls({step, task});
  }
  void calls_end() override {
    collector_.end_calls();
    next_.calls_end();
  }

 private:
  engine::Observer& next_;
  Collector& collector_;
};

}  // namespace sluice::profiler::cupti
