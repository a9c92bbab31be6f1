#include "engine/host/blas.hpp"

#include <cblas.h>

#include <cstdlib>
#include <mutex>
#include <string_view>

#include "engine/optimizer/instruction_set.hpp"

// This function is exported by builds of OpenBLAS that choose kernels at run time, and absent from
// others.
extern "C" {
void gotoblas_dynamic_init() __attribute__((weak));
void gotoblas_dynamic_quit() __attribute__((weak));
}

namespace sluice::engine {
namespace {

constexpr const char* kCoreVariable = "OPENBLAS_CORETYPE";

void choose_core() {
  if (gotoblas_dynamic_init == nullptr || gotoblas_dynamic_quit == nullptr) return;
  if (std::getenv(kCoreVariable) != nullptr) return;
  // OpenBLAS knows the processor.
  if (std::string_view(openblas_get_corename()) != "Prescott") return;
  const char* core = has_avx512() ? "SkylakeX" : has_avx2() ? "Haswell" : nullptr;
  if (core == nullptr) return;
  setenv(kCoreVariable, core, 1);
  gotoblas_dynamic_quit();
  gotoblas_dynamic_init();
  unsetenv(kCoreVariable);
}

}  // namespace

void prepare_blas() {
  static std::once_flag once;
  std::call_once(once, [] {
    choose_core();
    openblas_set_num_threads(1);
  });
}

}  // namespace sluice::engine
