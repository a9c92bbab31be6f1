// Times the suggested algorithms of matrix products on the GPU and says which is the fastest.
#pragma once

#include <cuda_runtime_api.h>

#include <memory>
#include <span>
#include <vector>

#include "engine/cuda/products/gemm_call.hpp"

namespace sluice::engine {

/// Operands are normally distributed bf16 numbers, for zeros would let the GPU clock higher than
/// training does. Holds device memory for the largest of its products while it lives.
class GemmRace {
 public:
  /// Throws EnvironmentError where the memory is not free.
  explicit GemmRace(std::span<const GemmKey> keys);
  ~GemmRace();
  GemmRace(const GemmRace&) = delete;  // Owns device memory.
  GemmRace& operator=(const GemmRace&) = delete;

  /// `key` is one of the constructor's. Takes some tens of milliseconds to a second, for products
  /// of a tenth of a second some seconds. Throws
  /// EnvironmentError where no suggestion both runs and gives the same bits twice.
  [[nodiscard]] GemmEntry run(const GemmKey& key);

 private:
  struct Buffer;
  struct Stream;
  struct Entrant;

  /// Mean time of a product in a row of `repeats`, behind `ahead` that are not timed: they load its
  /// kernel and keep the GPU busy while the others are enqueued. Infinite where the library or the
  /// GPU refuses the algorithm.
  Seconds time(const Entrant& entrant, int repeats, int ahead = 1) const;
  /// What two runs of one product leave in a part of its output is the same.
  bool repeats_its_bits(const Entrant& entrant) const;
  std::vector<std::byte> part_of_output(const Entrant& entrant) const;
  /// How many in a row take long enough to be timed.
  [[nodiscard]] int repeats_of(const Entrant& entrant) const;
  void warm_up(const Entrant& entrant, int repeats);

  BlasHandle handle_;
  std::unique_ptr<Stream> stream_;
  std::unique_ptr<Buffer> normals_, output_, workspace_;
  bool warm_ = false;
};

}  // namespace sluice::engine
