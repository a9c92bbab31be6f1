#include "profiler/cupti/absence.hpp"

namespace sluice::profiler::cupti {
namespace {

Absence absence(AbsenceReason reason, const std::string& what) {
  return {reason, "CUPTI does not trace: " + what + "; CUDA events time the tasks instead"};
}

}  // namespace

Absence absence_of(int status, const std::string& what, const std::string& text) {
  const std::string error = what + " says " + text;
  switch (status) {
    case status::kMultipleSubscribers:
    case status::kOldProfilerInitialized:
      return absence(AbsenceReason::other_profiler,
                     "another profiler or debugger is attached (" + error +
                         "): run without nsys, ncu, cuda-gdb, compute-sanitizer");
    case status::kInsufficientPrivileges:
    case status::kVirtualizedPrivileges:
      return absence(AbsenceReason::no_permission,
                     "only administrators may (" + error +
                         "): run as root, or load the nvidia module with "
                         "NVreg_RestrictProfilingToAdminUsers=0");
    case status::kNotInitialized:
    case status::kNotCompatible:
      return absence(AbsenceReason::version_mismatch,
                     "library and driver do not go together (" + error +
                         "): install the driver that CUPTI's CUDA release asks for");
    case status::kNotSupported:
    case status::kVirtualized:
    case status::kConfidential:
    case status::kMig:
    case status::kWsl:
      return absence(AbsenceReason::device, "this device or host has no tracing (" + error + ")");
    default:
      return absence(AbsenceReason::failed, error);
  }
}

Absence library_missing(const std::string& names) {
  return absence(AbsenceReason::library_missing,
                 "no library (" + names +
                     "): install cuda-cupti of the CUDA release, or name its folder in "
                     "LD_LIBRARY_PATH");
}

Absence version_mismatch(std::uint32_t library, std::uint32_t built) {
  return absence(AbsenceReason::version_mismatch,
                 "the library found is version " + std::to_string(library) +
                     " and this program was built for " + std::to_string(built) +
                     ": install cuda-cupti of the CUDA release it was built with");
}

Absence no_driver() {
  return absence(AbsenceReason::no_driver, "there is no NVIDIA driver: install it");
}

Absence nothing_seen() {
  return absence(AbsenceReason::failed, "it recorded no kernel and no copy of the steps that ran");
}

Absence not_built() {
  return absence(AbsenceReason::not_built,
                 "this build has none: build with -DSLUICE_CUDA=ON and cupti.h installed");
}

}  // namespace sluice::profiler::cupti
