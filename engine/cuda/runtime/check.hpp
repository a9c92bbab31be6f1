// Converts error statuses of the CUDA runtime to exceptions.
#pragma once

#include <cuda_runtime_api.h>

#include <string>

#include "sim/error.hpp"

namespace sluice::engine {

/// Throws EnvironmentError naming `what` unless `status` is success.
inline void check_cuda(cudaError_t status, const std::string& what) {
  if (status == cudaSuccess) return;
  throw EnvironmentError("CUDA: " + what + ": " + cudaGetErrorString(status));
}

}  // namespace sluice::engine
