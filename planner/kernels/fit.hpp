// Fits the constants and the correction of a kernel family to measured times.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "planner/kernels/kernel_model.hpp"

namespace sluice::planner {

struct MeasuredKernel {
  KernelShape shape;
  Seconds time{0};
};

struct KernelFitOptions {
  /// Number of multiprocessors of the device. None for the number that `known_multiprocessors`
  /// knows, else the one that explains the times best.
  std::optional<double> multiprocessors;
  /// Largest number of shapes that the constants are fitted to; they are drawn evenly from the
  /// rows.
  int constants_rows = 1600;
  int iterations = 30;  ///< Number of iterations of the least squares that fit the constants.
  CorrectionOptions correction = {};
};

/// Number of multiprocessors, from datasheets, of a device by the name that its driver reports;
/// none for an unknown name.
[[nodiscard]] std::optional<double> known_multiprocessors(const std::string& device);

/// Fits a kernel family to `rows`: its constants by damped least squares on ln(predicted /
/// measured) with Cauchy weights and a weak pull to their start, then its correction on what they
/// leave. First a fifth of the shapes is kept out to state errors and interval (`check`), then all
/// are used. Equal input gives equal bytes. Throws BadRequest where there are fewer rows than
/// `kLeastKernelRows`.
[[nodiscard]] KernelFamily fit_kernels(KernelKind kind, const std::string& device,
                                       const std::vector<MeasuredKernel>& rows,
                                       const KernelFitOptions& options = {});
inline constexpr std::size_t kLeastKernelRows = 50;

/// Errors of the times that `family` predicts for `rows`, against the measured ones.
[[nodiscard]] KernelCheck check_kernels(const KernelFamily& family,
                                        const std::vector<MeasuredKernel>& rows);

/// Finds the x near `start` that minimises the sum of scale^2 ln(1 + (r / scale)^2) over the
/// residuals r(x), plus (pull (x - start))^2, by damped Gauss-Newton steps (Levenberg 1944,
/// Marquardt 1963), at most `iterations`. `residuals` writes r(x) to its second argument;
/// derivatives are differences. `cost`, unless null, receives the least value found.
[[nodiscard]] std::vector<double> least_squares(
    const std::function<void(const std::vector<double>&, std::vector<double>&)>& residuals,
    std::vector<double> start, double scale, double pull, int iterations, double* cost = nullptr);

}  // namespace sluice::planner
