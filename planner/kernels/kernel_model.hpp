// Times of matrix products and of attention on one device, from a few physical constants and a
// learned correction.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "planner/costs/cost.hpp"
#include "planner/kernels/correction.hpp"
#include "planner/kernels/kernel_shape.hpp"

namespace sluice::planner {

/// Errors of a fit on shapes that were kept out of it: relative errors, and the 5 % and 95 %
/// quantiles of ln(measured / predicted).
struct KernelCheck {
  std::int64_t rows = 0;
  double median_error = 0, p90_error = 0;
  double log_low = 0, log_high = 0;
};

/// Kernels of one kind on one device: time = base(constants, shape) x exp(correction).
struct KernelFamily {
  KernelKind kind = KernelKind::gemm;
  std::string source;             ///< Table that the constants were fitted to, and its licence.
  std::int64_t rows = 0;          ///< Number of shapes fitted to.
  double multiprocessors = 0;     ///< Multiprocessors, among which tiles are divided.
  std::vector<double> constants;  ///< Values of the constants, in the order of `kernel_constants`.
  KernelCorrection correction;
  KernelCheck check;
};

/// One predicted time with its 90 % interval.
struct KernelTime {
  Seconds time{0}, low{0}, high{0};
  /// Relative standard deviation: half the interval over 1.645 times the time.
  [[nodiscard]] double relative_deviation() const;
};

/// Seconds from the constants alone, without the correction. Equations: planner/kernels/gemm.cpp
/// and planner/kernels/attention.cpp.
[[nodiscard]] double base_seconds(KernelKind kind, double multiprocessors,
                                  std::span<const double> constants, const KernelShape& shape);
/// Features that the correction looks at: logarithms of sizes, waves, and how full the last wave
/// is.
[[nodiscard]] std::vector<double> correction_features(const KernelFamily& family,
                                                      const KernelShape& shape, double base);

/// Kernels of both kinds on one device; either kind may be absent. Immutable once built; safe to
/// share.
class KernelModel {
 public:
  KernelModel() = default;
  explicit KernelModel(std::string device) : device_(std::move(device)) {}

  [[nodiscard]] const std::string& device() const { return device_; }
  [[nodiscard]] const KernelFamily* family(KernelKind kind) const;
  void set(KernelFamily family);

  /// Time of one kernel; none where its kind is absent.
  [[nodiscard]] std::optional<KernelTime> time(KernelKind kind, const KernelShape& shape) const;
  /// Time of one product of `gemm`, whatever its count; none where products are absent.
  [[nodiscard]] std::optional<KernelTime> time(const Gemm& gemm) const;
  /// Time of a forward pass of attention; none for a backward pass or where attention is absent.
  [[nodiscard]] std::optional<KernelTime> time(const AttentionWork& attention) const;

 private:
  std::string device_;
  std::optional<KernelFamily> gemm_, attention_;
};

/// The catalogue's kernel model of a machine; none where it has no measurements.
[[nodiscard]] std::optional<KernelModel> catalogue_kernels(const std::string& machine);

}  // namespace sluice::planner
