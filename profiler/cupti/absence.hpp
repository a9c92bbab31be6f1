// Reasons why CUPTI does not collect on this computer, in one line each.
#pragma once

#include <cstdint>
#include <string>

namespace sluice::profiler::cupti {

enum class AbsenceReason : std::uint8_t {
  not_built,  ///< This program was built without CUPTI or without CUDA.
  no_driver,
  library_missing,
  /// The CUPTI library, the driver, and the headers that this program was built with have versions
  /// that do not match.
  version_mismatch,
  other_profiler,  ///< Another profiler is attached, and CUPTI serves one at a time.
  no_permission,
  /// CUPTI does not trace on this kind of device or host (MIG, confidential computing, virtual
  /// machines, WSL).
  device,
  failed,
};

struct Absence {
  AbsenceReason reason = AbsenceReason::failed;
  /// The reason and its fix in one line, which also says that CUDA events are used instead.
  std::string line;
};

/// Result codes of CUPTI that are told apart here, by their numbers in its public reference, so
/// that messages can be tested where CUPTI is not installed.
namespace status {
inline constexpr int kNotCompatible = 14;
inline constexpr int kNotInitialized = 15;
inline constexpr int kNotSupported = 27;
inline constexpr int kVirtualized = 33;
inline constexpr int kInsufficientPrivileges = 35;
inline constexpr int kOldProfilerInitialized = 36;
inline constexpr int kMultipleSubscribers = 39;
inline constexpr int kVirtualizedPrivileges = 40;
inline constexpr int kConfidential = 41;
inline constexpr int kMig = 43;
inline constexpr int kWsl = 45;
}  // namespace status

/// The absence to report after a call of CUPTI named `what` returned `status`, which CUPTI
/// describes by `text`.
[[nodiscard]] Absence absence_of(int status, const std::string& what, const std::string& text);
[[nodiscard]] Absence library_missing(const std::string& names);
/// The absence to report where versions do not match, in CUPTI_API_VERSION's numbers: of the
/// library that was found, and of the headers this program was built with.
[[nodiscard]] Absence version_mismatch(std::uint32_t library, std::uint32_t built);
[[nodiscard]] Absence no_driver();
/// The absence to report for a run in which the device worked and CUPTI recorded nothing.
[[nodiscard]] Absence nothing_seen();
[[nodiscard]] Absence not_built();

}  // namespace sluice::profiler::cupti
