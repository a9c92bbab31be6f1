#include "planner/explanation/devices_pay.hpp"

#include <algorithm>
#include <utility>
#include <vector>

#include "planner/requests/run_step.hpp"
#include "planner/runs/several_hosts.hpp"

namespace sluice::planner {
namespace {

/// Largest batch that is tried, as a multiple of the run's, and in micro-batches of a device.
constexpr std::int64_t kTimesLarger = 16, kMostOfADevice = 256;

/// The run of `config`'s job with `batch_size` sequences a step. Where these are too few
/// micro-batches for its groups, each device has one.
RunConfig with_batch(RunConfig config, const Job& job, std::int64_t batch_size) {
  config.batch_size = batch_size;
  config.gradient_accumulation.reset();
  config.groups = batch_size / job.micro_batch < job.groups ? config.devices : job.groups;
  return config;
}

RunConfig on_one_device(RunConfig config) {
  if (config.threads) *config.threads *= config.devices;
  config.devices = 1;
  return on_one_host(std::move(config));
}

/// Times of one device over those of the run's devices, at a batch size.
class Speeds {
 public:
  Speeds(const Request& run, const Deadline& deadline) : run_(run), deadline_(deadline) {}

  /// None where either does not hold such steps.
  [[nodiscard]] std::optional<double> at(std::int64_t batch_size) const {
    const RunConfig config = with_batch(run_.config, run_.job(), batch_size);
    const auto all = step_of_changed(run_, config, deadline_);
    if (!all) return std::nullopt;
    const auto one = step_of_changed(run_, on_one_device(config), deadline_);
    if (!one) return std::nullopt;
    return to_seconds(one->prediction.step) / to_seconds(all->prediction.step);
  }

 private:
  const Request& run_;
  const Deadline& deadline_;
};

}  // namespace

DevicesPay devices_pay(const Request& run, Duration step, const Deadline& deadline) {
  const Job& job = run.job();
  const std::int64_t devices = run.config.devices, least = job.micro_batch * devices;
  DevicesPay pay;
  pay.devices = devices;
  if (const auto one = step_of_changed(
          run, on_one_device(with_batch(run.config, job, job.batch_size)), deadline)) {
    pay.speed = to_seconds(one->prediction.step) / to_seconds(step);
  } else {
    return pay;
  }
  std::vector<std::int64_t> batches;
  const std::int64_t most =
      std::max(job.batch_size, std::min(kTimesLarger * job.batch_size, kMostOfADevice * least));
  for (std::int64_t batch = least; batch <= most; batch *= 2) batches.push_back(batch);
  pay.most_tried = batches.back() * job.seq_len;
  const Speeds speeds(run, deadline);
  std::size_t low = 0, high = batches.size();  // From `high` on they pay.
  while (low < high) {
    if (deadline.is_late()) {
      pay.cut_short = true;
      return pay;
    }
    const std::size_t middle = (low + high) / 2;
    const auto speed = speeds.at(batches[middle]);
    if (speed && *speed > static_cast<double>(devices) / 2) {
      high = middle;
    } else {
      low = middle + 1;
    }
  }
  if (high < batches.size()) pay.pays_from = batches[high] * job.seq_len;
  return pay;
}

}  // namespace sluice::planner
