#include "profiler/cupti/cuda/calls.hpp"

#include <array>
#include <type_traits>

namespace sluice::profiler::cupti {
namespace {

static_assert(status::kNotCompatible == CUPTI_ERROR_NOT_COMPATIBLE);
static_assert(status::kNotInitialized == CUPTI_ERROR_NOT_INITIALIZED);
static_assert(status::kNotSupported == CUPTI_ERROR_NOT_SUPPORTED);
static_assert(status::kVirtualized == CUPTI_ERROR_VIRTUALIZED_DEVICE_NOT_SUPPORTED);
static_assert(status::kInsufficientPrivileges == CUPTI_ERROR_INSUFFICIENT_PRIVILEGES);
static_assert(status::kOldProfilerInitialized == CUPTI_ERROR_OLD_PROFILER_API_INITIALIZED);
static_assert(status::kMultipleSubscribers == CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED);
static_assert(status::kVirtualizedPrivileges ==
              CUPTI_ERROR_VIRTUALIZED_DEVICE_INSUFFICIENT_PRIVILEGES);
static_assert(status::kConfidential == CUPTI_ERROR_CONFIDENTIAL_COMPUTING_NOT_SUPPORTED);
static_assert(status::kMig == CUPTI_ERROR_MIG_DEVICE_NOT_SUPPORTED);
static_assert(status::kWsl == CUPTI_ERROR_WSL_DEVICE_NOT_SUPPORTED);

/// Kinds of records to collect. External correlation records come only with records of calls.
constexpr std::array kKinds = {CUPTI_ACTIVITY_KIND_EXTERNAL_CORRELATION,
                               CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL,
                               CUPTI_ACTIVITY_KIND_MEMCPY,
                               CUPTI_ACTIVITY_KIND_MEMSET,
                               CUPTI_ACTIVITY_KIND_OVERHEAD,
                               CUPTI_ACTIVITY_KIND_RUNTIME,
                               CUPTI_ACTIVITY_KIND_DRIVER};

/// Calls made for every task that start nothing; their records would be two thirds of all.
constexpr std::array kIdleRuntimeCalls = {CUPTI_RUNTIME_TRACE_CBID_cudaEventRecord_v3020,
                                          CUPTI_RUNTIME_TRACE_CBID_cudaEventQuery_v3020,
                                          CUPTI_RUNTIME_TRACE_CBID_cudaEventElapsedTime_v3020,
                                          CUPTI_RUNTIME_TRACE_CBID_cudaStreamWaitEvent_v3020,
                                          CUPTI_RUNTIME_TRACE_CBID_cudaStreamQuery_v3020,
                                          CUPTI_RUNTIME_TRACE_CBID_cudaGetDevice_v3020,
                                          CUPTI_RUNTIME_TRACE_CBID_cudaGetLastError_v3020,
                                          CUPTI_RUNTIME_TRACE_CBID_cudaPeekAtLastError_v3020};
constexpr std::array kIdleDriverCalls = {
    CUPTI_DRIVER_TRACE_CBID_cuEventRecord,       CUPTI_DRIVER_TRACE_CBID_cuEventQuery,
    CUPTI_DRIVER_TRACE_CBID_cuEventElapsedTime,  CUPTI_DRIVER_TRACE_CBID_cuStreamWaitEvent,
    CUPTI_DRIVER_TRACE_CBID_cuStreamQuery,       CUPTI_DRIVER_TRACE_CBID_cuStreamWriteValue32_v2,
    CUPTI_DRIVER_TRACE_CBID_cuCtxGetCurrent,     CUPTI_DRIVER_TRACE_CBID_cuKernelGetAttribute,
    CUPTI_DRIVER_TRACE_CBID_cuStreamIsCapturing, CUPTI_DRIVER_TRACE_CBID_cuStreamGetCaptureInfo_v2};

}  // namespace

bool Calls::resolve(const Library& library) {
  bool whole = true;
  const auto find = [&](const char* name, auto& call) {
    using Function = std::remove_pointer_t<std::remove_reference_t<decltype(call)>>;
    call = symbol<Function>(library, name);
    return call != nullptr;
  };
  const auto need = [&](const char* name, auto& call) { whole = find(name, call) && whole; };
  need("cuptiGetVersion", version);
  need("cuptiGetResultString", text);
  need("cuptiSubscribe", subscribe);
  need("cuptiUnsubscribe", unsubscribe);
  need("cuptiActivityRegisterCallbacks", register_callbacks);
  need("cuptiActivityEnable", enable);
  need("cuptiActivityDisable", disable);
  need("cuptiActivityFlushAll", flush);
  need("cuptiActivityGetNextRecord", next_record);
  need("cuptiActivityGetNumDroppedRecords", dropped);
  need("cuptiActivityPushExternalCorrelationId", push);
  need("cuptiActivityPopExternalCorrelationId", pop);
  need("cuptiGetTimestamp", timestamp);
  find("cuptiActivityEnableRuntimeApi", trace_runtime_call);
  find("cuptiActivityEnableDriverApi", trace_driver_call);
  return whole;
}

std::string Calls::text_of(CUptiResult result) const {
  const char* name = nullptr;
  if (text(result, &name) != CUPTI_SUCCESS || name == nullptr) {
    return "error " + std::to_string(static_cast<int>(result));
  }
  return name;
}

std::optional<Absence> Calls::enable_all() const {
  for (const CUpti_ActivityKind kind : kKinds) {
    if (const CUptiResult result = enable(kind); result != CUPTI_SUCCESS) {
      disable_all();
      return absence_of(result, "enabling activity kind " + std::to_string(kind), text_of(result));
    }
  }
  for (const auto call : kIdleRuntimeCalls) {
    if (trace_runtime_call != nullptr) (void)trace_runtime_call(call, 0);
  }
  for (const auto call : kIdleDriverCalls) {
    if (trace_driver_call != nullptr) (void)trace_driver_call(call, 0);
  }
  return std::nullopt;
}

void Calls::disable_all() const {
  for (const CUpti_ActivityKind kind : kKinds) (void)disable(kind);
}

}  // namespace sluice::profiler::cupti
