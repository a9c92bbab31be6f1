// Libraries that may be absent, opened at run time.
#pragma once

#include <dlfcn.h>

#include <memory>

namespace sluice::profiler {

struct CloseLibrary {
  void operator()(void* library) const { dlclose(library); }
};
using Library = std::unique_ptr<void, CloseLibrary>;

/// Opens the library `name`; null where there is none. It stays loaded until the process ends,
/// since CUDA libraries hold memory of their own that unloading would leak.
inline Library open_library(const char* name) {
  return Library(dlopen(name, RTLD_LAZY | RTLD_LOCAL | RTLD_NODELETE));
}

/// The function `name` of the library; null where the library lacks it.
template <class Function>
Function* symbol(const Library& library, const char* name) {
  return reinterpret_cast<Function*>(dlsym(library.get(), name));
}

}  // namespace sluice::profiler
