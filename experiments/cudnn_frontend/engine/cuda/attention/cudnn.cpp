#include "engine/cuda/attention/cudnn.hpp"

#include <cudnn.h>
#include <dlfcn.h>

#include <cstring>
#include <mutex>
#include <unordered_map>

// Needs the four above.
#include <cudnn_frontend_shim.h>

#include "sim/error.hpp"

namespace cudnn_frontend {
void* cudnn_dlhandle = nullptr;  // Declared by cudnn_frontend_shim.h: one library for the process.
}  // namespace cudnn_frontend

namespace sluice::engine {
namespace {

namespace calls = cudnn_frontend::detail;

/// Oldest version that supports scores masked with minus infinity, as the attention graphs use.
constexpr std::size_t kOldestVersion = 91000;

/// Opens the library once. cudnn-frontend keeps the address of each function that it looked up, or
/// that there was none, so nothing of it may be called before.
void open_library() {
  static std::mutex opening;
  const std::lock_guard lock(opening);
  if (cudnn_frontend::cudnn_dlhandle != nullptr) return;
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
  cudnn_frontend::cudnn_dlhandle = library;
}

}  // namespace

Cudnn::Cudnn() : handle_(nullptr, &calls::destroy_handle) {
  open_library();
  if (version() < kOldestVersion) {
    throw EnvironmentError("cuDNN " + calls::convert_version_to_str(version()) +
                           " is too old: install " + calls::convert_version_to_str(kOldestVersion) +
                           " or newer");
  }
  cudnnHandle_t handle = nullptr;
  check(calls::create_handle(&handle), "no handle");
  handle_.reset(handle);
}

std::size_t Cudnn::version() const { return calls::get_backend_version(); }

void Cudnn::check(cudnnStatus_t status, const std::string& what) const {
  if (status == CUDNN_STATUS_SUCCESS) return;
  const std::string detail = calls::get_last_error_string_();
  fail(what, calls::get_error_string(status) + (detail.empty() ? "" : ", " + detail));
}

void Cudnn::fail(const std::string& what, const std::string& why) const {
  std::string line = "cuDNN " + calls::convert_version_to_str(version()) + ": " + what + ": " + why;
  for (char& letter : line) {
    if (letter == '\n') letter = ' ';
  }
  throw EnvironmentError(line);
}

}  // namespace sluice::engine
