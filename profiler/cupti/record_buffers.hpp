// Memory that CUPTI writes records into: lent, given back full, read later, lent again.
#pragma once

#include <cstddef>
#include <memory>
#include <mutex>
#include <vector>

namespace sluice::profiler::cupti {

/// Any thread may call any function. Buffers are made once and touched, so that a thread which asks
/// for one in the middle of a step neither allocates nor faults; more are made only where records
/// come faster than they are read.
class RecordBuffers {
 public:
  struct Filled {
    std::byte* data;
    std::size_t bytes;  ///< Of records.
  };

  /// `ready` buffers at once, `most` in all, each of `bytes`, aligned for CUPTI (8 bytes).
  RecordBuffers(std::size_t bytes, std::size_t ready, std::size_t most);

  [[nodiscard]] std::size_t bytes() const { return bytes_; }
  /// Null where all are lent or wait to be read; counted, for then records are lost.
  [[nodiscard]] std::byte* lend() noexcept;
  /// A lent buffer with `used` bytes of records. Kept to be read, or free again while discarding.
  void give_back(std::byte* buffer, std::size_t used) noexcept;
  /// What is given back from now on is kept, or not. Not, at first.
  void keep(bool kept);
  /// Everything kept and not yet taken.
  [[nodiscard]] std::vector<Filled> take();
  /// A buffer that was taken and read.
  void reuse(const Filled& buffer);
  /// Requests refused since the last call.
  [[nodiscard]] std::size_t take_refusals();

 private:
  std::byte* make();

  std::size_t bytes_, most_;
  std::mutex mutex_;  ///< Guards all below.
  std::vector<std::unique_ptr<std::byte[]>> all_;
  std::vector<std::byte*> free_;
  std::vector<Filled> filled_;
  std::size_t refused_ = 0;
  bool keep_ = false;
};

}  // namespace sluice::profiler::cupti
