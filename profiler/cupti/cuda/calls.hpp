// Functions of CUPTI, found in a library that is opened at run time.
#pragma once

#include <cupti.h>

#include <optional>
#include <string>

#include "profiler/cupti/absence.hpp"
#include "profiler/sensors/shared_library.hpp"

namespace sluice::profiler::cupti {

/// Pointers to CUPTI's functions in an opened library.
struct Calls {
  decltype(&cuptiGetVersion) version = nullptr;
  decltype(&cuptiGetResultString) text = nullptr;
  decltype(&cuptiSubscribe) subscribe = nullptr;
  decltype(&cuptiUnsubscribe) unsubscribe = nullptr;
  decltype(&cuptiActivityRegisterCallbacks) register_callbacks = nullptr;
  decltype(&cuptiActivityEnable) enable = nullptr;
  decltype(&cuptiActivityDisable) disable = nullptr;
  decltype(&cuptiActivityFlushAll) flush = nullptr;
  decltype(&cuptiActivityGetNextRecord) next_record = nullptr;
  decltype(&cuptiActivityGetNumDroppedRecords) dropped = nullptr;
  decltype(&cuptiActivityPushExternalCorrelationId) push = nullptr;
  decltype(&cuptiActivityPopExternalCorrelationId) pop = nullptr;
  decltype(&cuptiGetTimestamp) timestamp = nullptr;
  // Null in libraries before CUDA 12.3; used only to record less.
  CUptiResult(CUPTIAPI* trace_runtime_call)(CUpti_CallbackId, std::uint8_t) = nullptr;
  CUptiResult(CUPTIAPI* trace_driver_call)(CUpti_CallbackId, std::uint8_t) = nullptr;

  /// Finds the functions in `library`; false where it lacks one that is needed.
  bool resolve(const Library& library);
  /// Name that CUPTI gives the result code `result`.
  [[nodiscard]] std::string text_of(CUptiResult result) const;
  /// Starts tracing kernels, copies, fills, overhead and tags; none if that worked. Otherwise
  /// returns why not, and nothing is enabled.
  [[nodiscard]] std::optional<Absence> enable_all() const;
  void disable_all() const;
};

}  // namespace sluice::profiler::cupti
