// Reasons why CUPTI does not collect here, in one line each.
#pragma once

#include <cstdint>
#include <string>

namespace sluice::profiler::cupti {

enum class AbsenceReason : std::uint8_t {
  not_built,  ///< This build has no CUPTI or no CUDA.
  no_driver,
  library_missing,
  /// Versions of the library, the driver and the headers used to build this program do not match.
  version_mismatch,
  other_profiler,  ///< Another profiler is attached: CUPTI serves one at a time.
  no_permission,
  device,  ///< CUPTI does not trace on this kind of device or host.
  failed,
};

struct Absence {
  AbsenceReason reason = AbsenceReason::failed;
  /// The reason and its fix in one line, which also says that CUDA events are used instead.
  std::string line;
};

/// CUPTI's result codes that are told apart here, by their numbers in its public reference, so that
/// the lines can be tested where CUPTI is not.
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

/// The absence after a call named `what` returned `status`, which CUPTI calls `text`.
[[nodiscard]] Absence absence_of(int status, const std::string& what, const std::string& text);
[[nodiscard]] Absence library_missing(const std::string& names);
/// The absence for versions that do not match, as CUPTI_API_VERSION counts them: 10000 x major +
/// ....
[[nodiscard]] Absence version_mismatch(std::uint32_t library, std::uint32_t built);
[[nodiscard]] Absence no_driver();
/// The absence for a run in which work was done and none of it recorded.
[[nodiscard]] Absence nothing_seen();
[[nodiscard]] Absence not_built();

}  // namespace sluice::profiler::cupti
