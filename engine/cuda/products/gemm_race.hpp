// Timing of the suggested algorithms of matrix products on the GPU, to find the fastest.
#pragma once

#include <cuda_runtime_api.h>

#include <memory>
#include <span>
#include <vector>

#include "engine/cuda/products/gemm_call.hpp"

namespace sluice::engine {

/// Care with which algorithms are compared.
enum class GemmCare {
  thorough,  ///< Every suggestion, those near the best several times, with the same bits twice.
  /// The library's first suggestions, each timed once: a choice that is about as fast, in some
  /// hundredths of a second. For measurements that stand for runs; not for runs.
  quick,
};

/// Measures how fast each suggested algorithm computes a product. Operands are normally distributed
/// bf16 numbers, because zeros would let the GPU clock higher than in training. Holds device memory
/// for the largest of its products while it lives.
class GemmRace {
 public:
  /// Throws EnvironmentError if the memory is not free.
  explicit GemmRace(std::span<const GemmKey> keys);
  ~GemmRace();
  GemmRace(const GemmRace&) = delete;  // Owns device memory.
  GemmRace& operator=(const GemmRace&) = delete;

  /// The fastest algorithm for `key`, which must be one of the constructor's. Takes tens of
  /// milliseconds to a second, and some seconds for products of a tenth of a second. Throws
  /// EnvironmentError if no suggestion both runs and gives the same bits twice.
  [[nodiscard]] GemmEntry run(const GemmKey& key, GemmCare care = GemmCare::thorough);

 private:
  struct Buffer;
  struct Stream;
  struct Entrant;

  /// Mean time of one product over `repeats` of them in sequence, after `ahead` untimed ones, which
  /// load its kernel and keep the GPU busy while the others are enqueued. Infinite if the library
  /// or the GPU refuses the algorithm.
  Seconds time(const Entrant& entrant, int repeats, int ahead = 1) const;
  /// Whether two runs of one product give the same bits in a part of its output.
  bool repeats_its_bits(const Entrant& entrant) const;
  std::vector<std::byte> part_of_output(const Entrant& entrant) const;
  /// Number of repeats of a product that in sequence take at least `least`.
  [[nodiscard]] int repeats_of(const Entrant& entrant, Seconds least) const;
  /// Runs the product until clocks have settled, once in this object's life.
  void warm_up(const Entrant& entrant, int repeats);

  BlasHandle handle_;
  std::unique_ptr<Stream> stream_;
  std::unique_ptr<Buffer> normals_, output_, workspace_;
  bool warm_ = false;
};

}  // namespace sluice::engine
