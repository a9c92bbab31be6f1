// Times of matrix products and of attention on one device: a few physical constants and a
// correction that is learned beside them.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "planner/costs/cost.hpp"
#include "planner/kernels/correction.hpp"

namespace sluice::planner {

enum class KernelKind { gemm, attention };
const char* to_string(KernelKind kind);

/// Sizes of one kernel, in the order of `kernel_columns`: m, n, k of a product; sequences, tokens
/// of a sequence, heads, key-value heads, head dimension and window (0: none) of causal attention.
struct KernelShape {
  std::array<double, 6> size{};
  friend auto operator<=>(const KernelShape&, const KernelShape&) = default;
};
[[nodiscard]] KernelShape shape_of(const Gemm& gemm);
[[nodiscard]] KernelShape shape_of(const AttentionWork& attention);
/// Whether key-value heads divide heads, where the kind has any.
[[nodiscard]] bool shares_heads_evenly(KernelKind kind, const KernelShape& shape);

/// Names of a shape's sizes, as tables of measurements head them; `optional` ones may be absent.
struct KernelColumn {
  const char* name;
  bool optional = false;
};
[[nodiscard]] std::span<const KernelColumn> kernel_columns(KernelKind kind);

/// A physical constant of a kernel family. The fit works on an unbounded number; `scale` maps it.
enum class ConstantScale {
  positive,  ///< exp(x)
  share,     ///< 1 / (1 + exp(-x)), within (0, 1)
};
struct KernelConstant {
  const char* name;  ///< With its unit: "launch_s", "rate_flop_per_s".
  ConstantScale scale;
};
[[nodiscard]] std::span<const KernelConstant> kernel_constants(KernelKind kind);

/// Share of shapes that were kept out of a fit: relative errors, and 5 % and 95 % of ln(measured /
/// predicted).
struct KernelCheck {
  std::int64_t rows = 0;
  double median_error = 0, p90_error = 0;
  double log_low = 0, log_high = 0;
};

/// Kernels of one kind on one device: time = base(constants, shape) x exp(correction).
struct KernelFamily {
  KernelKind kind = KernelKind::gemm;
  std::string source;             ///< Table and licence the constants were fitted to.
  std::int64_t rows = 0;          ///< Shapes fitted to.
  double multiprocessors = 0;     ///< Units that tiles are dealt to.
  std::vector<double> constants;  ///< Values, in the order of `kernel_constants`.
  KernelCorrection correction;
  KernelCheck check;
};

/// One predicted time with its 90 % interval.
struct KernelTime {
  Seconds time{0}, low{0}, high{0};
  /// Half the interval over 1.645 times the value.
  [[nodiscard]] double relative_deviation() const;
};

/// Seconds from the constants alone. Equations: planner/kernels/gemm.cpp and
/// planner/kernels/attention.cpp.
[[nodiscard]] double base_seconds(KernelKind kind, double multiprocessors,
                                  std::span<const double> constants, const KernelShape& shape);
/// What the correction looks at: logarithms of sizes, waves and how full the last one is.
[[nodiscard]] std::vector<double> correction_features(const KernelFamily& family,
                                                      const KernelShape& shape, double base);

/// Both kinds on one device; either may be absent. Immutable once built; safe to share.
class KernelModel {
 public:
  KernelModel() = default;
  explicit KernelModel(std::string device) : device_(std::move(device)) {}

  [[nodiscard]] const std::string& device() const { return device_; }
  [[nodiscard]] const KernelFamily* family(KernelKind kind) const;
  void set(KernelFamily family);

  /// None where the kind is absent.
  [[nodiscard]] std::optional<KernelTime> time(KernelKind kind, const KernelShape& shape) const;
  /// One product of `gemm`, whatever its count.
  [[nodiscard]] std::optional<KernelTime> time(const Gemm& gemm) const;
  /// Forward passes only: none for `backward`.
  [[nodiscard]] std::optional<KernelTime> time(const AttentionWork& attention) const;

 private:
  std::string device_;
  std::optional<KernelFamily> gemm_, attention_;
};

/// What the catalogue knows of a machine's kernels; none where it has no measurements.
[[nodiscard]] std::optional<KernelModel> catalogue_kernels(const std::string& machine);

}  // namespace sluice::planner
