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
  /// Multiprocessors of the device. None for what `known_multiprocessors` has for it, else the
  /// number that explains the times best.
  std::optional<double> multiprocessors;
  int constants_rows = 1600;  ///< Number of shapes that the constants are fitted to, drawn evenly.
  int iterations = 30;        ///< Iterations of the constants' least squares.
  CorrectionOptions correction = {};
};

/// Multiprocessors of a device by the name that its driver reports, from datasheets; none where
/// unknown.
[[nodiscard]] std::optional<double> known_multiprocessors(const std::string& device);

/// Fits constants by damped least squares on ln(predicted / measured) with Cauchy weights and a
/// weak pull to their start, then the correction on what they leave. A fifth of the shapes is kept
/// out once to state errors and interval (`check`), then all are used. Equal input gives equal
/// bytes. Throws BadRequest where there are fewer rows than `kLeastKernelRows`.
[[nodiscard]] KernelFamily fit_kernels(KernelKind kind, const std::string& device,
                                       const std::vector<MeasuredKernel>& rows,
                                       const KernelFitOptions& options = {});
inline constexpr std::size_t kLeastKernelRows = 50;

/// Errors of `family` on `rows`.
[[nodiscard]] KernelCheck check_kernels(const KernelFamily& family,
                                        const std::vector<MeasuredKernel>& rows);

/// Damped Gauss-Newton (Levenberg 1944, Marquardt 1963) for the x nearest to `start` that minimises
/// the sum of scale^2 ln(1 + (r / scale)^2) over the residuals r(x), plus (pull (x - start))^2.
/// Derivatives are differences. `cost`, where given, receives the minimum.
[[nodiscard]] std::vector<double> least_squares(
    const std::function<void(const std::vector<double>&, std::vector<double>&)>& residuals,
    std::vector<double> start, double scale, double pull, int iterations, double* cost = nullptr);

}  // namespace sluice::planner
