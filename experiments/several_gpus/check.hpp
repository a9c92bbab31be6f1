// Status codes of CUDA and its libraries become exceptions that say what failed.
#pragma once

#include <cublas_v2.h>
#include <cuda.h>
#include <cuda_runtime.h>

#include <stdexcept>
#include <string>

namespace sluice::several_gpus {

inline void check(cudaError_t status, const char* what) {
  if (status != cudaSuccess) {
    throw std::runtime_error(std::string(what) + ": " + cudaGetErrorString(status));
  }
}

inline void check(CUresult status, const char* what) {
  if (status != CUDA_SUCCESS) {
    throw std::runtime_error(std::string(what) + ": driver error " + std::to_string(status));
  }
}

inline void check(cublasStatus_t status, const char* what) {
  if (status != CUBLAS_STATUS_SUCCESS) {
    throw std::runtime_error(std::string(what) + ": cuBLAS error " + std::to_string(status));
  }
}

}  // namespace sluice::several_gpus
