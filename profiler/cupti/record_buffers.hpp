// Buffers that CUPTI writes records into: lent, given back full, read later, lent again.
#pragma once

#include <cstddef>
#include <memory>
#include <mutex>
#include <vector>

namespace sluice::profiler::cupti {

/// Pool of buffers for CUPTI's records. Any thread may call any function. Buffers are made once and
/// touched, so that a thread that asks for one in the middle of a step neither allocates nor
/// faults; more are made only where records come faster than they are read.
class RecordBuffers {
 public:
  struct Filled {
    std::byte* data;
    std::size_t bytes;  ///< Bytes of records in the buffer.
  };

  /// Makes `ready` buffers at once, and up to `most` in all, each of `bytes`, aligned for CUPTI (8
  /// bytes).
  RecordBuffers(std::size_t bytes, std::size_t ready, std::size_t most);

  [[nodiscard]] std::size_t bytes() const { return bytes_; }
  /// Lends a buffer. Null where all are lent or wait to be read; this is counted, since records are
  /// lost then.
  [[nodiscard]] std::byte* lend() noexcept;
  /// Takes back a lent buffer with `used` bytes of records: kept to be read, or free again while
  /// discarding.
  void give_back(std::byte* buffer, std::size_t used) noexcept;
  /// Whether buffers given back from now on are kept; at first they are not.
  void keep(bool kept);
  /// All buffers that were kept and not yet taken.
  [[nodiscard]] std::vector<Filled> take();
  /// Makes a buffer that was taken and read free again.
  void reuse(const Filled& buffer);
  /// Number of requests refused since the last call.
  [[nodiscard]] std::size_t take_refusals();

 private:
  std::byte* make();

  std::size_t bytes_, most_;
  std::mutex mutex_;  ///< Guards all members below.
  std::vector<std::unique_ptr<std::byte[]>> all_;
  std::vector<std::byte*> free_;
  std::vector<Filled> filled_;
  std::size_t refused_ = 0;
  bool keep_ = false;
};

}  // namespace sluice::profiler::cupti
