// Pool of buffers that CUPTI writes records into: lent, given back full, read later, lent again.
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
    std::size_t bytes;  ///< Bytes of records that the buffer holds.
  };

  /// Makes `ready` buffers of `bytes` bytes each at once, aligned for CUPTI (8 bytes); there may
  /// later be `most` in all.
  RecordBuffers(std::size_t bytes, std::size_t ready, std::size_t most);

  [[nodiscard]] std::size_t bytes() const { return bytes_; }
  /// Lends a buffer of bytes() bytes. Null where all are lent or wait to be read; such refusals are
  /// counted, since records are lost then.
  [[nodiscard]] std::byte* lend() noexcept;
  /// Takes back a lent buffer that holds `used` bytes of records. It is kept to be read if
  /// keep(true) was called, else free again.
  void give_back(std::byte* buffer, std::size_t used) noexcept;
  /// Sets whether buffers given back from now on are kept to be read; at first they are not.
  void keep(bool kept);
  /// All buffers that were kept and not yet taken; the caller gives each back by reuse().
  [[nodiscard]] std::vector<Filled> take();
  /// Makes a buffer free again that was taken and read.
  void reuse(const Filled& buffer);
  /// Number of requests for a buffer that were refused since the last call.
  [[nodiscard]] std::size_t take_refusals();

 private:
  std::byte* make();

  std::size_t bytes_, most_;
  std::mutex mutex_;  ///< Guards all members declared after it.
  std::vector<std::unique_ptr<std::byte[]>> all_;
  std::vector<std::byte*> free_;
  std::vector<Filled> filled_;
  std::size_t refused_ = 0;
  bool keep_ = false;
};

}  // namespace sluice::profiler::cupti
