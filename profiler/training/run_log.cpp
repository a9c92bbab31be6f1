#include "profiler/training/run_log.hpp"

#include <array>
#include <vector>

#include "sim/error.hpp"
#include "sim/warning.hpp"

namespace sluice::profiler {
namespace {

constexpr std::array<const char*, planner::kLaneKinds> kBusyTags = {
    "busy/compute", "busy/h2d",       "busy/d2h",        "busy/cpu",
    "busy/launch",  "busy/disk-read", "busy/disk-write", "busy/fabric"};

std::vector<engine::Scalar> scalars_of(const engine::StepMetrics& line) {
  const double seconds = line.step_time.count();
  std::vector<engine::Scalar> scalars;
  if (!line.skipped) scalars.push_back({"train/loss", line.loss});
  scalars.push_back({"train/learning_rate", line.lr});
  if (!line.skipped) scalars.push_back({"train/grad_norm", line.grad_norm});
  scalars.insert(scalars.end(),
                 {{"speed/useful_tokens_per_s", static_cast<double>(line.useful_tokens) / seconds},
                  {"speed/step_s", seconds},
                  {"speed/predicted_step_s", line.predicted.count()},
                  {"moved_bytes/h2d", static_cast<double>(line.to_device.count())},
                  {"moved_bytes/d2h", static_cast<double>(line.to_host.count())}});
  if (line.balance_loss) scalars.push_back({"train/balance_loss", *line.balance_loss});
  if (line.from_disk) {
    scalars.push_back({"moved_bytes/disk-read", static_cast<double>(line.from_disk->count())});
  }
  if (line.to_disk) {
    scalars.push_back({"moved_bytes/disk-write", static_cast<double>(line.to_disk->count())});
  }
  if (line.mfu) scalars.push_back({"speed/mfu", *line.mfu});
  for (std::size_t lane = 0; lane < line.busy.size(); ++lane) {
    if (line.busy[lane]) scalars.push_back({kBusyTags[lane], *line.busy[lane]});
  }
  if (line.gpu) {
    scalars.push_back({"gpu/temperature_c", line.gpu->temperature});
    scalars.push_back({"gpu/power_w", line.gpu->power});
    scalars.push_back({"gpu/clock_hz", line.gpu->clock});
  }
  return scalars;
}

}  // namespace

RunLog::RunLog(const engine::RunFolder& folder, const planner::Prediction& prediction,
               planner::DeviceKind device, LaneMeter& meter, std::int64_t first_step)
    : mfu_seconds_(prediction.mfu.value_or(0) * to_seconds(prediction.step).count()),
      meter_(meter) {
  if (device == planner::DeviceKind::cuda) sensors_.emplace();
  guarded([&] { events_.emplace(folder.events(), first_step); });
}

void RunLog::measure(engine::StepMetrics& line) {
  meter_.read(line);
  if (mfu_seconds_ > 0) line.mfu = mfu_seconds_ / line.step_time.count();
  if (sensors_) line.gpu = sensors_->read();
}

void RunLog::log(const engine::StepMetrics& line) {
  guarded([&] {
    if (events_) events_->append(line.step, scalars_of(line));
  });
}

void RunLog::validation(std::int64_t step, double loss) {
  const std::array<engine::Scalar, 1> scalars = {engine::Scalar{"validation/loss", loss}};
  guarded([&] {
    if (events_) events_->append(step, scalars);
  });
}

template <class Write>
void RunLog::guarded(const Write& write) {
  try {
    write();
  } catch (const EnvironmentError& error) {
    events_.reset();
    failure_ = error.what();
  }
}

void RunLog::finish() const {
  if (failure_.empty()) return;
  sim::warn("the TensorBoard file is incomplete: " + failure_);
}

}  // namespace sluice::profiler
