// cuDNN, loaded at run time, so that the program starts without it and can report that it is
// missing; called through NVIDIA's cudnn-frontend.
#pragma once

#include <cudnn_graph.h>

#include <cstddef>
#include <memory>
#include <string>
#include <type_traits>

namespace sluice::engine {

/// The cuDNN library, loaded at run time, with a handle on the device that was current when this
/// was created. Only one thread may use it at a time; it must outlive the plans built with it.
/// Takes about 10 MiB of device memory.
class Cudnn {
 public:
  /// Loads the library. Throws EnvironmentError if it is missing or older than 9.10, or finds no
  /// device.
  Cudnn();

  [[nodiscard]] cudnnHandle_t handle() const { return handle_.get(); }
  /// Version of the library, part of the numerics id; 91900 means 9.19.0.
  [[nodiscard]] std::size_t version() const;
  /// Throws EnvironmentError saying that `what` failed and why, unless `status` is success.
  void check(cudnnStatus_t status, const std::string& what) const;
  /// Throws EnvironmentError saying that `what` failed because of `why`, in one line.
  [[noreturn]] void fail(const std::string& what, const std::string& why) const;

 private:
  std::unique_ptr<std::remove_pointer_t<cudnnHandle_t>, decltype(&cudnnDestroy)> handle_;
};

}  // namespace sluice::engine
