// The functions of cuBLASLt that products call, each of which opens the library at its first call:
// a program with the CUDA parts starts where cuBLAS is not installed.
#include <cublasLt.h>
#include <dlfcn.h>

#include <cstdint>
#include <string>

#include "sim/error.hpp"

namespace {

constexpr char kName[] = "libcublasLt.so.13";

void* open_cublaslt() {
  // Never closed: its kernels stay loaded as long as the process lives.
  constexpr int kFlags = RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE;
  void* library = dlopen(kName, kFlags);
#ifdef SLUICE_CUBLASLT_LIBRARY
  if (library == nullptr) library = dlopen(SLUICE_CUBLASLT_LIBRARY, kFlags);
#endif
  if (library == nullptr) {
    throw sluice::EnvironmentError(std::string("cuBLASLt: cannot open ") + kName + " (" +
                                   dlerror() +
                                   "): install cuBLAS 13 (pip: nvidia-cublas), or name its folder "
                                   "in LD_LIBRARY_PATH");
  }
  return library;
}

/// The library's own `function`, whose name is `name`; throws EnvironmentError where the library or
/// the function is missing.
template <auto* function>
decltype(function) opened(const char* name) {
  static void* const library = open_cublaslt();
  void* const found = dlsym(library, name);
  if (found == nullptr) {
    throw sluice::EnvironmentError(std::string("cuBLASLt: ") + kName + " lacks " + name +
                                   ": install cuBLAS 13 (pip: nvidia-cublas)");
  }
  return reinterpret_cast<decltype(function)>(found);
}

}  // namespace

// Parameters as in cublasLt.h.
extern "C" {

cublasStatus_t cublasLtCreate(cublasLtHandle_t* handle) {
  static const auto call = opened<cublasLtCreate>("cublasLtCreate");
  return call(handle);
}

cublasStatus_t cublasLtDestroy(cublasLtHandle_t handle) {
  static const auto call = opened<cublasLtDestroy>("cublasLtDestroy");
  return call(handle);
}

const char* cublasLtGetStatusString(cublasStatus_t status) {
  static const auto call = opened<cublasLtGetStatusString>("cublasLtGetStatusString");
  return call(status);
}

std::size_t cublasLtGetVersion() {
  static const auto call = opened<cublasLtGetVersion>("cublasLtGetVersion");
  return call();
}

cublasStatus_t cublasLtMatrixLayoutCreate(cublasLtMatrixLayout_t* layout, cudaDataType type,
                                          std::uint64_t rows, std::uint64_t cols,
                                          std::int64_t stride) {
  static const auto call = opened<cublasLtMatrixLayoutCreate>("cublasLtMatrixLayoutCreate");
  return call(layout, type, rows, cols, stride);
}

cublasStatus_t cublasLtMatrixLayoutDestroy(cublasLtMatrixLayout_t layout) {
  static const auto call = opened<cublasLtMatrixLayoutDestroy>("cublasLtMatrixLayoutDestroy");
  return call(layout);
}

cublasStatus_t cublasLtMatmulDescCreate(cublasLtMatmulDesc_t* description,
                                        cublasComputeType_t compute, cudaDataType_t scale) {
  static const auto call = opened<cublasLtMatmulDescCreate>("cublasLtMatmulDescCreate");
  return call(description, compute, scale);
}

cublasStatus_t cublasLtMatmulDescDestroy(cublasLtMatmulDesc_t description) {
  static const auto call = opened<cublasLtMatmulDescDestroy>("cublasLtMatmulDescDestroy");
  return call(description);
}

cublasStatus_t cublasLtMatmulDescSetAttribute(cublasLtMatmulDesc_t description,
                                              cublasLtMatmulDescAttributes_t attribute,
                                              const void* value, std::size_t bytes) {
  static const auto call = opened<cublasLtMatmulDescSetAttribute>("cublasLtMatmulDescSetAttribute");
  return call(description, attribute, value, bytes);
}

cublasStatus_t cublasLtMatmulPreferenceCreate(cublasLtMatmulPreference_t* preference) {
  static const auto call = opened<cublasLtMatmulPreferenceCreate>("cublasLtMatmulPreferenceCreate");
  return call(preference);
}

cublasStatus_t cublasLtMatmulPreferenceDestroy(cublasLtMatmulPreference_t preference) {
  static const auto call =
      opened<cublasLtMatmulPreferenceDestroy>("cublasLtMatmulPreferenceDestroy");
  return call(preference);
}

cublasStatus_t cublasLtMatmulPreferenceSetAttribute(cublasLtMatmulPreference_t preference,
                                                    cublasLtMatmulPreferenceAttributes_t attribute,
                                                    const void* value, std::size_t bytes) {
  static const auto call =
      opened<cublasLtMatmulPreferenceSetAttribute>("cublasLtMatmulPreferenceSetAttribute");
  return call(preference, attribute, value, bytes);
}

cublasStatus_t cublasLtMatmulAlgoGetHeuristic(cublasLtHandle_t handle,
                                              cublasLtMatmulDesc_t description,
                                              cublasLtMatrixLayout_t a, cublasLtMatrixLayout_t b,
                                              cublasLtMatrixLayout_t c, cublasLtMatrixLayout_t d,
                                              cublasLtMatmulPreference_t preference, int wanted,
                                              cublasLtMatmulHeuristicResult_t* results,
                                              int* found) {
  static const auto call = opened<cublasLtMatmulAlgoGetHeuristic>("cublasLtMatmulAlgoGetHeuristic");
  return call(handle, description, a, b, c, d, preference, wanted, results, found);
}

cublasStatus_t cublasLtMatmulAlgoConfigGetAttribute(const cublasLtMatmulAlgo_t* algorithm,
                                                    cublasLtMatmulAlgoConfigAttributes_t attribute,
                                                    void* value, std::size_t bytes,
                                                    std::size_t* written) {
  static const auto call =
      opened<cublasLtMatmulAlgoConfigGetAttribute>("cublasLtMatmulAlgoConfigGetAttribute");
  return call(algorithm, attribute, value, bytes, written);
}

cublasStatus_t cublasLtMatmul(cublasLtHandle_t handle, cublasLtMatmulDesc_t description,
                              const void* alpha, const void* a, cublasLtMatrixLayout_t a_layout,
                              const void* b, cublasLtMatrixLayout_t b_layout, const void* beta,
                              const void* c, cublasLtMatrixLayout_t c_layout, void* d,
                              cublasLtMatrixLayout_t d_layout,
                              const cublasLtMatmulAlgo_t* algorithm, void* workspace,
                              std::size_t workspace_bytes, cudaStream_t stream) {
  static const auto call = opened<cublasLtMatmul>("cublasLtMatmul");
  return call(handle, description, alpha, a, a_layout, b, b_layout, beta, c, c_layout, d, d_layout,
              algorithm, workspace, workspace_bytes, stream);
}

}  // extern "C"
