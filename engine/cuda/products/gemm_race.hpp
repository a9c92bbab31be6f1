// Timing of the suggested algorithms of matrix products on the GPU, to find the fastest.
#pragma once

#include <cuda_runtime_api.h>

#include <memory>
#include <span>
#include <vector>

#include "engine/cuda/products/gemm_call.hpp"

namespace sluice::engine {

/// How carefully the algorithms for a matrix product are compared.
enum class GemmCare {
  /// Every suggestion of the library is timed, and those near the best several times; the chosen
  /// one must give the same bits twice.
  thorough,
  /// Only the library's first suggestions are timed, once each, and bits are not compared: a choice
  /// that is about as fast, found soon. For measurements that stand for runs; not for runs.
  quick,
};

/// Finds the fastest algorithm for matrix products by running those that cuBLASLt suggests.
/// Operands are normally distributed bf16 numbers, because zeros would let the GPU clock higher
/// than in training. Holds device memory for the largest of its products while it lives.
class GemmRace {
 public:
  /// Allocates memory for the products `keys`. Throws EnvironmentError if that is not free.
  explicit GemmRace(std::span<const GemmKey> keys);
  ~GemmRace();
  GemmRace(const GemmRace&) = delete;  // Owns device memory.
  GemmRace& operator=(const GemmRace&) = delete;

  /// The fastest algorithm for `key`, which must be one of the constructor's, with its measured
  /// time. Throws EnvironmentError if no suggestion runs or, unless `care` is quick, none gives the
  /// same bits twice.
  [[nodiscard]] GemmEntry run(const GemmKey& key, GemmCare care = GemmCare::thorough);

 private:
  struct Buffer;
  struct Stream;
  struct Entrant;

  /// Mean time of one product with one algorithm, over `repeats` of them in sequence, after `ahead`
  /// untimed ones, which load its kernel and keep the GPU busy while the others are enqueued.
  /// Infinite if the library or the GPU refuses the algorithm.
  Seconds time(const Entrant& entrant, int repeats, int ahead = 1) const;
  /// Whether two runs of one product with the same algorithm give the same bits in the middle part
  /// of its output.
  bool repeats_its_bits(const Entrant& entrant) const;
  std::vector<std::byte> part_of_output(const Entrant& entrant) const;
  /// How often a product must be repeated in sequence to take at least `least`, within limits.
  [[nodiscard]] int repeats_of(const Entrant& entrant, Seconds least) const;
  /// Runs the product until the GPU's clocks have settled under load, once in this object's life.
  void warm_up(const Entrant& entrant, int repeats);

  BlasHandle handle_;
  std::unique_ptr<Stream> stream_;
  std::unique_ptr<Buffer> normals_, output_, workspace_;
  /// E4M3 numbers, and ones as their scales; null unless products have FP8 operands.
  std::unique_ptr<Buffer> numbers_, scales_;
  bool warm_ = false;
};

}  // namespace sluice::engine
