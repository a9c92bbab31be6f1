// Makes one GPU the calling thread's, for a scope.
#pragma once

#include <cuda_runtime_api.h>

#include "engine/cuda/runtime/check.hpp"

namespace sluice::engine {

/// Makes a GPU the calling thread's current device, and at the scope's end the one that was so
/// before.
class OnDevice {
 public:
  [[nodiscard]] explicit OnDevice(int device) : device_(device) {
    check_cuda(cudaGetDevice(&before_), "the current device");
    if (before_ != device_) check_cuda(cudaSetDevice(device_), "the device");
  }
  ~OnDevice() {
    if (before_ != device_) cudaSetDevice(before_);
  }
  OnDevice(const OnDevice&) = delete;  // A scope ends once.
  OnDevice& operator=(const OnDevice&) = delete;

 private:
  int device_;
  int before_ = 0;
};

}  // namespace sluice::engine
