#include "nccl_library.hpp"

#include <dlfcn.h>

#include <cstdlib>
#include <stdexcept>
#include <string>

namespace sluice::several_gpus {
namespace {

template <class Function>
void find(void* library, const char* name, Function& function) {
  function = reinterpret_cast<Function>(dlsym(library, name));
  if (function == nullptr) throw std::runtime_error(std::string("NCCL has no ") + name);
}

NcclLibrary opened() {
  const char* name = std::getenv("NCCL_LIBRARY");
  void* library = dlopen(name != nullptr ? name : "libnccl.so.2", RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) throw std::runtime_error(std::string("NCCL: ") + dlerror());
  NcclLibrary nccl;
  find(library, "ncclGetVersion", nccl.get_version);
  find(library, "ncclGetErrorString", nccl.error_string);
  find(library, "ncclGetUniqueId", nccl.unique_id);
  find(library, "ncclCommInitRankConfig", nccl.init_rank);
  find(library, "ncclMemAlloc", nccl.allocate);
  find(library, "ncclCommWindowRegister", nccl.register_window);
  find(library, "ncclAllGather", nccl.all_gather);
  find(library, "ncclAlltoAll", nccl.all_to_all);
  find(library, "ncclReduceScatter", nccl.reduce_scatter);
  return nccl;
}

}  // namespace

const NcclLibrary& NcclLibrary::get() {
  static const NcclLibrary nccl = opened();
  return nccl;
}

void NcclLibrary::check(ncclResult_t status, const char* what) const {
  if (status != ncclSuccess) {
    throw std::runtime_error(std::string(what) + ": NCCL: " + error_string(status));
  }
}

}  // namespace sluice::several_gpus
