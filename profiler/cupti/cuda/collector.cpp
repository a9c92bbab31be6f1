#include "profiler/cupti/collector.hpp"

#include <cuda.h>
#include <cuda_runtime_api.h>

#include <algorithm>
#include <atomic>
#include <optional>

#include "profiler/cupti/clock_map.hpp"
#include "profiler/cupti/cuda/calls.hpp"
#include "profiler/cupti/cuda/parse.hpp"
#include "profiler/cupti/record_buffers.hpp"
#include "profiler/sensors/shared_library.hpp"
#include "sim/error.hpp"

namespace sluice::profiler::cupti {
namespace {

constexpr CUpti_ExternalCorrelationKind kTaskTag = CUPTI_EXTERNAL_CORRELATION_KIND_CUSTOM0;

// 4 MiB hold some 15,000 records: a step of a large model, on one thread.
constexpr std::size_t kBufferBytes = std::size_t{4} << 20;
constexpr std::size_t kReadyBuffers = 16;
constexpr std::size_t kMostBuffers = 256;

/// The process's buffers, which outlive every collector: CUPTI's callbacks carry no user data, and
/// its worker thread may call them until the process ends.
RecordBuffers& buffers() {
  static auto* const kept = new RecordBuffers(kBufferBytes, kReadyBuffers, kMostBuffers);
  return *kept;
}

void CUPTIAPI buffer_requested(std::uint8_t** buffer, std::size_t* size, std::size_t* most) {
  *buffer = reinterpret_cast<std::uint8_t*>(buffers().lend());
  *size = *buffer == nullptr ? 0 : buffers().bytes();
  *most = 0;  // As many as go in.
}

void CUPTIAPI buffer_completed(CUcontext, std::uint32_t, std::uint8_t* buffer, std::size_t,
                               std::size_t used) {
  if (buffer != nullptr) buffers().give_back(reinterpret_cast<std::byte*>(buffer), used);
}

void CUPTIAPI no_callback(void*, CUpti_CallbackDomain, CUpti_CallbackId, const void*) {}

/// Opens CUPTI by its soname, else where it was found when this program was built.
Library open_cupti(const std::string& soname) {
  Library library = open_library(soname.c_str());
#ifdef SLUICE_CUPTI_LIBRARY
  if (!library) library = open_library(SLUICE_CUPTI_LIBRARY);
#endif
  if (!library) {
    library = open_library(("/usr/local/cuda/extras/CUPTI/lib64/" + soname).c_str());
  }
  return library;
}

class CuptiCollector final : public Collector {
 public:
  CuptiCollector(Library library, const Calls& calls, CUpti_SubscriberHandle subscriber)
      : library_(std::move(library)), calls_(calls), subscriber_(subscriber) {}

  ~CuptiCollector() override {
    buffers().keep(false);
    calls_.disable_all();
    (void)calls_.flush(CUPTI_ACTIVITY_FLAG_FLUSH_FORCED);
    (void)calls_.unsubscribe(subscriber_);
  }

  std::optional<Absence> restart() override {
    wait_and_flush();
    buffers().keep(false);
    for (const RecordBuffers::Filled& filled : buffers().take()) buffers().reuse(filled);
    (void)buffers().take_refusals();
    (void)dropped();
    if (!tracing_) {
      if (auto failed = calls_.enable_all()) return failed;
    }
    buffers().keep(true);
    begin_ = clock_pair([this] { return now(); });
    tracing_ = true;
    return std::nullopt;
  }

  RecordSet take() override {
    check(begin_.has_value(), "a collector is restarted before anything is taken");
    wait_and_flush();
    RecordSet records;
    records.begin = *begin_;
    records.end = clock_pair([this] { return now(); });
    tracing_ = false;
    calls_.disable_all();
    flush();  // What disabling completed.
    buffers().keep(false);
    begin_.reset();
    for (const RecordBuffers::Filled& filled : buffers().take()) {
      read(filled, records);
      buffers().reuse(filled);
    }
    const std::size_t refused = buffers().take_refusals();
    records.dropped = std::max(dropped(), refused);
    return records;
  }

  void begin_calls(TaskKey key) noexcept override {
    if (tracing_.load(std::memory_order_relaxed)) (void)calls_.push(kTaskTag, external_id(key));
  }

  void end_calls() noexcept override {
    // A tag that is missing shows as time without a task.
    if (tracing_.load(std::memory_order_relaxed)) (void)calls_.pop(kTaskTag, nullptr);
  }

 private:
  void require(CUptiResult result, const std::string& what) const {
    if (result == CUPTI_SUCCESS) return;
    throw EnvironmentError("CUPTI: " + what + ": " + calls_.text_of(result));
  }

  void flush() const {
    require(calls_.flush(CUPTI_ACTIVITY_FLAG_FLUSH_FORCED), "flushing its buffers");
  }

  /// Waits for the device before flushing, since a record is complete only once its activity has
  /// ended.
  void wait_and_flush() const {
    if (const cudaError_t status = cudaDeviceSynchronize(); status != cudaSuccess) {
      throw EnvironmentError(std::string("CUDA: waiting for traced work: ") +
                             cudaGetErrorString(status));
    }
    flush();
  }

  [[nodiscard]] DeviceInstant now() const {
    std::uint64_t nanoseconds = 0;
    require(calls_.timestamp(&nanoseconds), "its clock");
    return DeviceInstant(DeviceClock::duration(static_cast<std::int64_t>(nanoseconds)));
  }

  /// Number of records that CUPTI dropped since the last call.
  [[nodiscard]] std::size_t dropped() const {
    std::size_t count = 0;
    require(calls_.dropped(nullptr, 0, &count), "counting dropped records");
    return count;
  }

  void read(const RecordBuffers::Filled& filled, RecordSet& records) const {
    auto* data = reinterpret_cast<std::uint8_t*>(filled.data);
    for (CUpti_Activity* record = nullptr;;) {
      const CUptiResult result = calls_.next_record(data, filled.bytes, &record);
      if (result == CUPTI_ERROR_MAX_LIMIT_REACHED) return;
      if (result != CUPTI_SUCCESS) {
        ++records.unread;  // At least one: the rest of the buffer cannot be found.
        return;
      }
      add_record(record, records);
    }
  }

  Library library_;
  Calls calls_;
  CUpti_SubscriberHandle subscriber_;
  std::atomic<bool> tracing_{true};  ///< Whether CUPTI traces now; changes only while no lane runs.
  std::optional<ClockPair> begin_;
};

}  // namespace

std::variant<std::unique_ptr<Collector>, Absence> Collector::open() {
  if (!open_library("libcuda.so.1")) return no_driver();
  const std::string soname = "libcupti.so." + std::to_string(CUDA_VERSION / 1000);
  Library library = open_cupti(soname);
  if (!library) return library_missing(soname);
  Calls calls;
  std::uint32_t version = 0;
  if (!calls.resolve(library) || calls.version(&version) != CUPTI_SUCCESS ||
      version / 10000 != CUPTI_API_VERSION / 10000) {
    return version_mismatch(version, CUPTI_API_VERSION);
  }
  CUpti_SubscriberHandle subscriber = nullptr;
  const auto callback = reinterpret_cast<CUpti_CallbackFunc>(no_callback);
  CUptiResult result = calls.subscribe(&subscriber, callback, nullptr);
  if (result != CUPTI_SUCCESS) {
    return absence_of(result, "subscribing", calls.text_of(result));
  }
  result = calls.register_callbacks(buffer_requested, buffer_completed);
  std::optional<Absence> failed;
  if (result != CUPTI_SUCCESS) {
    failed = absence_of(result, "registering buffers", calls.text_of(result));
  } else {
    failed = calls.enable_all();
  }
  if (failed) {
    (void)calls.unsubscribe(subscriber);
    return *failed;
  }
  return std::make_unique<CuptiCollector>(std::move(library), calls, subscriber);
}

}  // namespace sluice::profiler::cupti
