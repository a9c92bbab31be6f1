// cuDNN, loaded at run time, so that the program starts without it and can report that it is
// missing.
#pragma once

#include <cudnn_graph.h>

#include <memory>
#include <string>
#include <type_traits>

namespace sluice::engine {

/// Addresses of the functions of libcudnn.so.9 that Sluice calls, found when the library is loaded.
struct CudnnCalls {
  decltype(&cudnnGetVersion) version = nullptr;
  decltype(&cudnnGetErrorString) status_text = nullptr;
  decltype(&cudnnGetLastErrorString) last_error = nullptr;
  decltype(&cudnnCreate) create = nullptr;
  decltype(&cudnnDestroy) destroy = nullptr;
  decltype(&cudnnSetStream) set_stream = nullptr;
  decltype(&cudnnBackendCreateDescriptor) create_descriptor = nullptr;
  decltype(&cudnnBackendDestroyDescriptor) destroy_descriptor = nullptr;
  decltype(&cudnnBackendSetAttribute) set_attribute = nullptr;
  decltype(&cudnnBackendGetAttribute) get_attribute = nullptr;
  decltype(&cudnnBackendFinalize) finalize = nullptr;
  decltype(&cudnnBackendExecute) execute = nullptr;
};

/// The cuDNN library, loaded at run time, with a handle on the device that was current when this
/// was created. Only one thread may use it at a time; it must outlive the plans built with it.
/// Takes about 10 MiB of device memory.
class Cudnn {
 public:
  /// Loads the library. Throws EnvironmentError if it is missing or older than 9.10, or finds no
  /// device.
  Cudnn();

  [[nodiscard]] const CudnnCalls& calls() const { return calls_; }
  [[nodiscard]] cudnnHandle_t handle() const { return handle_.get(); }
  /// Version of the library, part of the numerics id; 91900 means 9.19.0.
  [[nodiscard]] std::size_t version() const { return calls_.version(); }
  /// Throws EnvironmentError saying that `what` failed and why, unless `status` is success.
  void check(cudnnStatus_t status, const std::string& what) const;

 private:
  using Handle =
      std::unique_ptr<std::remove_pointer_t<cudnnHandle_t>, decltype(CudnnCalls::destroy)>;
  CudnnCalls calls_;
  Handle handle_;
};

/// An object of cuDNN's graph API (a tensor, an operation, a graph, a plan): its attributes are
/// set, then `finalize` is called, then it can be used.
class CudnnDescriptor {
 public:
  CudnnDescriptor(const Cudnn& cudnn, cudnnBackendDescriptorType_t type);

  [[nodiscard]] cudnnBackendDescriptor_t get() const { return descriptor_.get(); }
  /// Sets attribute `name` to a copy of `count` values of `type`; throws EnvironmentError that
  /// names `what` if cuDNN refuses them.
  void set(const Cudnn& cudnn, cudnnBackendAttributeName_t name, cudnnBackendAttributeType_t type,
           std::int64_t count, const void* values, const std::string& what);
  /// Sets attribute `name` to another descriptor, `value`; throws EnvironmentError that names
  /// `what` if cuDNN refuses it.
  void set(const Cudnn& cudnn, cudnnBackendAttributeName_t name, cudnnBackendDescriptor_t value,
           const std::string& what);
  void finalize(const Cudnn& cudnn, const std::string& what);

 private:
  std::unique_ptr<std::remove_pointer_t<cudnnBackendDescriptor_t>,
                  decltype(CudnnCalls::destroy_descriptor)>
      descriptor_;
};

}  // namespace sluice::engine
