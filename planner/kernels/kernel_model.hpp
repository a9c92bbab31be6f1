// Times of matrix products and of attention on one device, from a few physical constants and a
// learned correction.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "planner/kernels/correction.hpp"
#include "planner/kernels/kernel_shape.hpp"
#include "planner/kernels/kernel_times.hpp"
#include "planner/kernels/kernel_work.hpp"

namespace sluice::planner {

/// Errors of a fit on shapes that were kept out of it: median and 90 % quantile of the relative
/// error of predicted times, and the 5 % and 95 % quantiles of ln(measured / predicted).
struct KernelCheck {
  std::int64_t rows = 0;
  double median_error = 0, p90_error = 0;
  double log_low = 0, log_high = 0;
};

/// Time model of one kind of kernel on one device: time = base_seconds(shape) x exp(correction).
struct KernelFamily {
  KernelKind kind = KernelKind::gemm;
  std::string source;  ///< Where the fitted times come from: the table, and its licence.
  /// Number of measured shapes that the model was fitted to; 0 where it was scaled from that of
  /// another device.
  std::int64_t rows = 0;
  /// Number of the device's multiprocessors, among which tiles are divided.
  double multiprocessors = 0;
  /// Values of the model's constants, in the order of `kernel_constants`.
  std::vector<double> constants;
  KernelCorrection correction;
  KernelCheck check;
  /// Factors of the speed that the constants and the correction state: of all kernels, and of
  /// attention's backward passes besides.
  double speed = 1, backward_speed = 1;
};

/// Predicted time of one kernel with its 90 % interval, `low` to `high`.
struct KernelTime {
  Seconds time{0}, low{0}, high{0};
  /// Standard deviation of the time over the time: half the interval over 1.645 times the time.
  [[nodiscard]] double relative_deviation() const;
};

/// Seconds that the model's constants alone predict, without the correction. The equations are in
/// planner/kernels/gemm.cpp and planner/kernels/attention.cpp.
[[nodiscard]] double base_seconds(KernelKind kind, double multiprocessors,
                                  std::span<const double> constants, const KernelShape& shape);
/// Features of a kernel from which the correction is computed: logarithms of its sizes, its waves
/// of tiles, and how full the last wave is. `base` is its base_seconds().
[[nodiscard]] std::vector<double> correction_features(const KernelFamily& family,
                                                      const KernelShape& shape, double base);

/// Time models of the kernels of one device, products and attention; either may be absent.
/// Immutable once built; safe to share between threads.
class KernelModel {
 public:
  KernelModel() = default;
  explicit KernelModel(std::string device) : device_(std::move(device)) {}

  [[nodiscard]] const std::string& device() const { return device_; }
  [[nodiscard]] const KernelFamily* family(KernelKind kind) const;
  void set(KernelFamily family);
  /// Hash of every number of the time models of products and of attention.
  [[nodiscard]] std::string hash() const;

  /// Time of one kernel; none where the model has no kernels of this kind.
  [[nodiscard]] std::optional<KernelTime> time(KernelKind kind, const KernelShape& shape) const;
  /// Time of one of the products of `gemm`, whatever its count, with the bytes of its result; none
  /// where the model has no products.
  [[nodiscard]] std::optional<KernelTime> time(const Gemm& gemm) const;
  /// Time of attention on a device of `architecture` ("sm_90"), without `sums` and `narrow_keys`.
  /// Chunks of a sequence take the share of the whole sequence's time that the constants give them;
  /// backward passes follow backward_share(). None where the model has no attention.
  [[nodiscard]] std::optional<KernelTime> time(const AttentionWork& attention,
                                               std::string_view architecture) const;

 private:
  [[nodiscard]] KernelTime remembered(const KernelFamily& family, const KernelShape& shape) const;

  std::string device_;
  std::optional<KernelFamily> gemm_, attention_;
  std::string gemm_hash_, attention_hash_;
  /// Times of kernels that were computed so far; copies of the model share them until a family is
  /// set.
  std::shared_ptr<KernelTimes> times_ = std::make_shared<KernelTimes>();
};

}  // namespace sluice::planner
