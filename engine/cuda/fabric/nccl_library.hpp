// NCCL, loaded at run time, so that the program starts without it and can report that it is
// missing.
#pragma once

#if __has_include(<nccl.h>)

#include <nccl.h>

#include <string>

namespace sluice::engine {

/// Addresses of the functions of libnccl.so.2 that Sluice calls, found when the library is loaded.
struct NcclCalls {
  decltype(&ncclGetVersion) version = nullptr;
  decltype(&ncclGetErrorString) error_text = nullptr;
  decltype(&ncclGetLastError) last_error = nullptr;
  decltype(&ncclGetUniqueId) unique_id = nullptr;
  decltype(&ncclCommInitRankConfig) init_rank = nullptr;
  decltype(&ncclCommGetAsyncError) async_error = nullptr;
  decltype(&ncclCommAbort) abort = nullptr;
  decltype(&ncclCommDestroy) destroy = nullptr;
  decltype(&ncclMemAlloc) allocate = nullptr;
  decltype(&ncclMemFree) release = nullptr;
  decltype(&ncclAllGather) all_gather = nullptr;
  decltype(&ncclSend) send = nullptr;
  decltype(&ncclRecv) receive = nullptr;
  decltype(&ncclGroupStart) group_start = nullptr;
  decltype(&ncclGroupEnd) group_end = nullptr;
  /// Null before NCCL 2.27.
  decltype(&ncclCommWindowRegister) register_window = nullptr;
};

/// The NCCL library, loaded at run time: the file that the environment variable SLUICE_NCCL names,
/// else libnccl.so.2 of the loader's path, else the one that was found when the program was built.
class Nccl {
 public:
  /// Loads the library. Throws EnvironmentError if it is missing or older than 2.19.
  Nccl();

  [[nodiscard]] const NcclCalls& calls() const { return calls_; }
  /// Version of the library; 22809 means 2.28.9.
  [[nodiscard]] int version() const { return version_; }
  /// Whether this version has collectives by copy engines.
  [[nodiscard]] bool has_copy_engines() const;
  /// `status` in NCCL's words.
  [[nodiscard]] std::string text_of(ncclResult_t status) const;
  /// Throws EnvironmentError saying that `what` failed and why, unless `status` is success.
  void check(ncclResult_t status, const std::string& what) const;

 private:
  NcclCalls calls_;
  int version_ = 0;
};
/// A version number of NCCL as text, such as "2.28.9".
[[nodiscard]] std::string nccl_version_text(int version);

}  // namespace sluice::engine

#endif
