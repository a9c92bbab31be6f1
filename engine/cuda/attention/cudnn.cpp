#include "engine/cuda/attention/cudnn.hpp"

#include <dlfcn.h>

#include <array>

#include "sim/error.hpp"

namespace sluice::engine {
namespace {

/// Oldest version that supports scores masked with minus infinity, as the attention graphs use.
constexpr std::size_t kOldestVersion = 91000;

std::string version_text(std::size_t version) {
  return std::to_string(version / 10000) + '.' + std::to_string(version / 100 % 100) + '.' +
         std::to_string(version % 100);
}

template <class Function>
void resolve(void* library, const char* name, Function& function) {
  function = reinterpret_cast<Function>(dlsym(library, name));
  if (function == nullptr) {
    throw EnvironmentError(std::string("cuDNN: libcudnn.so.9 lacks ") + name + ": install cuDNN " +
                           version_text(kOldestVersion) + " or newer");
  }
}

CudnnCalls open_library() {
  // Never closed: its threads and the driver's tables live as long as the process.
  constexpr int kFlags = RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE;
  void* library = dlopen("libcudnn.so.9", kFlags);
#ifdef SLUICE_CUDNN_LIBRARY
  if (library == nullptr) library = dlopen(SLUICE_CUDNN_LIBRARY, kFlags);
#endif
  if (library == nullptr) {
    throw EnvironmentError(std::string("cuDNN: cannot open libcudnn.so.9 (") + dlerror() +
                           "): install cuDNN 9 or name its folder in LD_LIBRARY_PATH");
  }
  CudnnCalls calls;
  resolve(library, "cudnnGetVersion", calls.version);
  resolve(library, "cudnnGetErrorString", calls.status_text);
  resolve(library, "cudnnGetLastErrorString", calls.last_error);
  resolve(library, "cudnnCreate", calls.create);
  resolve(library, "cudnnDestroy", calls.destroy);
  resolve(library, "cudnnSetStream", calls.set_stream);
  resolve(library, "cudnnBackendCreateDescriptor", calls.create_descriptor);
  resolve(library, "cudnnBackendDestroyDescriptor", calls.destroy_descriptor);
  resolve(library, "cudnnBackendSetAttribute", calls.set_attribute);
  resolve(library, "cudnnBackendGetAttribute", calls.get_attribute);
  resolve(library, "cudnnBackendFinalize", calls.finalize);
  resolve(library, "cudnnBackendExecute", calls.execute);
  if (calls.version() < kOldestVersion) {
    throw EnvironmentError("cuDNN " + version_text(calls.version()) + " is too old: install " +
                           version_text(kOldestVersion) + " or newer");
  }
  return calls;
}

}  // namespace

Cudnn::Cudnn() : calls_(open_library()), handle_(nullptr, calls_.destroy) {
  cudnnHandle_t handle = nullptr;
  check(calls_.create(&handle), "no handle");
  handle_.reset(handle);
}

void Cudnn::check(cudnnStatus_t status, const std::string& what) const {
  if (status == CUDNN_STATUS_SUCCESS) return;
  std::array<char, 512> detail{};
  calls_.last_error(detail.data(), detail.size());
  std::string line = "cuDNN " + version_text(version()) + ": " + what + ": " +
                     calls_.status_text(status) + (detail[0] == '\0' ? "" : ", ") + detail.data();
  for (char& letter : line) {
    if (letter == '\n') letter = ' ';
  }
  throw EnvironmentError(line);
}

CudnnDescriptor::CudnnDescriptor(const Cudnn& cudnn, cudnnBackendDescriptorType_t type)
    : descriptor_(nullptr, cudnn.calls().destroy_descriptor) {
  cudnnBackendDescriptor_t descriptor = nullptr;
  cudnn.check(cudnn.calls().create_descriptor(type, &descriptor),
              "a descriptor of type " + std::to_string(type));
  descriptor_.reset(descriptor);
}

void CudnnDescriptor::set(const Cudnn& cudnn, cudnnBackendAttributeName_t name,
                          cudnnBackendAttributeType_t type, std::int64_t count, const void* values,
                          const std::string& what) {
  cudnn.check(cudnn.calls().set_attribute(get(), name, type, count, values), what);
}

void CudnnDescriptor::set(const Cudnn& cudnn, cudnnBackendAttributeName_t name,
                          cudnnBackendDescriptor_t value, const std::string& what) {
  set(cudnn, name, CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, &value, what);
}

void CudnnDescriptor::finalize(const Cudnn& cudnn, const std::string& what) {
  cudnn.check(cudnn.calls().finalize(get()), what);
}

}  // namespace sluice::engine
