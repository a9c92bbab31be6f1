#include "engine/cuda/fabric/nccl_library.hpp"

#include <dlfcn.h>

#include <cstdlib>

#include "sim/error.hpp"

namespace sluice::engine {
namespace {

/// Oldest version with memory that all its transports can reach.
constexpr int kOldestNccl = 21900;
/// Oldest version whose collectives copy engines can run.
constexpr int kOldestWithCopyEngines = 22800;

template <class Function>
void find_call(void* library, const char* name, Function& function) {
  function = reinterpret_cast<Function>(dlsym(library, name));
}

template <class Function>
void require_call(void* library, const char* name, Function& function) {
  find_call(library, name, function);
  if (function == nullptr) {
    throw EnvironmentError(std::string("NCCL: libnccl.so.2 lacks ") + name + ": install NCCL " +
                           nccl_version_text(kOldestNccl) + " or newer");
  }
}

void* open_nccl() {
  // Multicast is for sums; where it is on, windows take part of a limited resource of the switch.
  setenv("NCCL_NVLS_ENABLE", "0", /*overwrite=*/0);
  // Never closed: its threads live as long as the process.
  constexpr int kFlags = RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE;
  if (const char* named = std::getenv("SLUICE_NCCL"); named != nullptr && *named != '\0') {
    void* library = dlopen(named, kFlags);
    if (library != nullptr) return library;
    throw EnvironmentError(std::string("SLUICE_NCCL: cannot open ") + named + " (" + dlerror() +
                           "): name the file libnccl.so.2, or leave the variable out");
  }
  void* library = dlopen("libnccl.so.2", kFlags);
#ifdef SLUICE_NCCL_LIBRARY
  if (library == nullptr) library = dlopen(SLUICE_NCCL_LIBRARY, kFlags);
#endif
  if (library == nullptr) {
    throw EnvironmentError(std::string("NCCL: cannot open libnccl.so.2 (") + dlerror() +
                           "): install NCCL 2.28 or newer (pip: nvidia-nccl-cu13), or name the "
                           "file in SLUICE_NCCL");
  }
  return library;
}

}  // namespace

std::string nccl_version_text(int version) {
  return std::to_string(version / 10000) + '.' + std::to_string(version / 100 % 100) + '.' +
         std::to_string(version % 100);
}

Nccl::Nccl() {
  // Ranks that are threads open it at the same time.
  static void* const library = open_nccl();
  require_call(library, "ncclGetVersion", calls_.version);
  require_call(library, "ncclGetErrorString", calls_.error_text);
  require_call(library, "ncclGetLastError", calls_.last_error);
  require_call(library, "ncclGetUniqueId", calls_.unique_id);
  require_call(library, "ncclCommInitRankConfig", calls_.init_rank);
  require_call(library, "ncclCommGetAsyncError", calls_.async_error);
  require_call(library, "ncclCommAbort", calls_.abort);
  require_call(library, "ncclCommDestroy", calls_.destroy);
  require_call(library, "ncclMemAlloc", calls_.allocate);
  require_call(library, "ncclMemFree", calls_.release);
  require_call(library, "ncclAllGather", calls_.all_gather);
  require_call(library, "ncclSend", calls_.send);
  require_call(library, "ncclRecv", calls_.receive);
  require_call(library, "ncclGroupStart", calls_.group_start);
  require_call(library, "ncclGroupEnd", calls_.group_end);
  find_call(library, "ncclCommWindowRegister", calls_.register_window);
  check(calls_.version(&version_), "its version");
  if (version_ < kOldestNccl) {
    throw EnvironmentError("NCCL " + nccl_version_text(version_) + " is too old: install " +
                           nccl_version_text(kOldestNccl) + " or newer");
  }
}

bool Nccl::has_copy_engines() const {
  return version_ >= kOldestWithCopyEngines && calls_.register_window != nullptr;
}

std::string Nccl::text_of(ncclResult_t status) const {
  const char* detail = calls_.last_error(nullptr);
  std::string text = calls_.error_text(status);
  if (detail != nullptr && *detail != '\0') text += std::string(", ") + detail;
  for (char& letter : text) {
    if (letter == '\n') letter = ' ';
  }
  return text;
}

void Nccl::check(ncclResult_t status, const std::string& what) const {
  if (status == ncclSuccess) return;
  throw EnvironmentError("NCCL " + nccl_version_text(version_) + ": " + what + ": " +
                         text_of(status));
}

}  // namespace sluice::engine
