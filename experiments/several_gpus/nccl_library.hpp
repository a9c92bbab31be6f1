// NCCL, opened while the program runs: types from nccl.h, functions by dlsym.
#pragma once

#include <nccl.h>

namespace sluice::several_gpus {

/// The functions of NCCL that the experiment calls.
struct NcclLibrary {
  /// Opens the library that $NCCL_LIBRARY names, or libnccl.so.2; throws std::runtime_error where
  /// it or a function of it is missing.
  static const NcclLibrary& get();

  /// Throws std::runtime_error with NCCL's words unless `status` is success.
  void check(ncclResult_t status, const char* what) const;

  decltype(&ncclGetVersion) get_version;
  decltype(&ncclGetErrorString) error_string;
  decltype(&ncclGetUniqueId) unique_id;
  decltype(&ncclCommInitRankConfig) init_rank;
  decltype(&ncclMemAlloc) allocate;
  decltype(&ncclCommWindowRegister) register_window;
  decltype(&ncclAllGather) all_gather;
  decltype(&ncclAlltoAll) all_to_all;
  decltype(&ncclReduceScatter) reduce_scatter;
};

}  // namespace sluice::several_gpus
