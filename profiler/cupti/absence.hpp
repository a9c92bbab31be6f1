// Why CUPTI does not collect here, in one line each.
#pragma once

#include <cstdint>
#include <string>

namespace sluice::profiler::cupti {

enum class AbsenceReason : std::uint8_t {
  not_built,  ///< This build has no CUPTI, or no CUDA.
  no_driver,
  library_missing,
  version_mismatch,  ///< Of library, driver and the headers that this program was built with.
  other_profiler,    ///< One is attached: CUPTI serves one at a time.
  no_permission,
  device,  ///< A kind of device or host on which CUPTI does not trace.
  failed,
};

struct Absence {
  AbsenceReason reason = AbsenceReason::failed;
  std::string line;  ///< What and the fix; says that CUDA events are used instead.
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

/// A call, named `what`, that returned `status`, which CUPTI calls `text`.
[[nodiscard]] Absence absence_of(int status, const std::string& what, const std::string& text);
[[nodiscard]] Absence library_missing(const std::string& names);
/// Versions as CUPTI_API_VERSION counts them: 10000 x major + ....
[[nodiscard]] Absence version_mismatch(std::uint32_t library, std::uint32_t built);
[[nodiscard]] Absence no_driver();
/// Work was done and none of it recorded.
[[nodiscard]] Absence nothing_seen();
[[nodiscard]] Absence not_built();

}  // namespace sluice::profiler::cupti
