#include "engine/backends/numerics_id.hpp"

#include <cblas.h>
#include <gnu/libc-version.h>
#include <sys/utsname.h>

#include "engine/host/blas.hpp"
#include "planner/files/hash.hpp"

namespace sluice::engine {
namespace {

/// Name and version, "OpenBLAS 0.3.21". The rest of the configuration string says how it was built
/// and how many threads it can start, which affect no bits.
std::string openblas_version() {
  const std::string config = openblas_get_config();
  const std::size_t name_end = config.find(' ');
  const std::size_t version_end =
      name_end == std::string::npos ? name_end : config.find(' ', name_end + 1);
  return config.substr(0, version_end);
}

}  // namespace

std::string host_numerics_id() {
  prepare_blas();  // The core name depends on it.
  utsname system{};
  uname(&system);
  return planner::CanonicalText("sluice/numerics/1")
      .add("backend", "host")
      .add("processor", static_cast<const char*>(system.machine))
      .add("openblas_core", static_cast<const char*>(openblas_get_corename()))
      .add("openblas", openblas_version())
      .add("libc", static_cast<const char*>(gnu_get_libc_version()))
      .add("kernels", std::int64_t{kHostKernelsVersion})
      .hash();
}

}  // namespace sluice::engine
