#include <bit>
#include <cstring>
#include <functional>
#include <string>
#include <vector>

#include "check.hpp"
#include "kernels.hpp"
#include "loads.hpp"
#include "parts.hpp"
#include "rows.hpp"
#include "stopwatch.hpp"

namespace sluice::several_gpus {
namespace {

constexpr std::size_t kMiB = std::size_t{1} << 20;

char* device_memory(std::size_t bytes) {
  void* memory = nullptr;
  check(cudaMalloc(&memory, bytes), "cudaMalloc");
  return static_cast<char*>(memory);
}

/// The digest of words summed up on the stream; clears it for the next.
std::uint64_t taken(std::uint64_t* digest, cudaStream_t stream) {
  std::uint64_t value = 0;
  check(cudaMemcpyAsync(&value, digest, sizeof value, cudaMemcpyDefault, stream), "digest");
  check(cudaMemsetAsync(digest, 0, sizeof value, stream), "digest");
  check(cudaStreamSynchronize(stream), "digest");
  return value;
}

/// Whether the first elements of the sum are what the processor adds up, split at the largest power
/// of two below the count.
bool as_the_processor_adds(const Slices& slices, int count, const char* sum) {
  constexpr std::size_t kElements = 16 * kBlock;
  std::vector<std::vector<float>> rows(count + 1, std::vector<float>(kElements));
  for (int i = 0; i <= count; ++i) {
    const void* from = i < count ? static_cast<const void*>(slices[i]) : sum;
    check(cudaMemcpy(rows[i].data(), from, 4 * kElements, cudaMemcpyDefault), "read back");
  }
  const std::function<float(std::size_t, int, int)> fold = [&](std::size_t at, int low, int high) {
    if (high - low == 1) return rows[low][at];
    const int middle =
        low + static_cast<int>(std::bit_floor(static_cast<unsigned>(high - low - 1)));
    return fold(at, low, middle) + fold(at, middle, high);
  };
  for (std::size_t at = 0; at < kElements; ++at) {
    const float wanted = fold(at, 0, count);
    if (std::memcmp(&wanted, &rows[count][at], 4) != 0) return false;
  }
  return true;
}

float* floats(char* at) { return reinterpret_cast<float*>(at); }

}  // namespace

void host(const Rank& rank, const Options& options) {
  start_load_threads(
      rank, {.threads = options.cores / rank.of, .chunk = options.chunk, .products = false});
  constexpr unsigned kUp = bit(Load::h2d), kDown = bit(Load::d2h), kUpdates = bit(Load::adamw);
  const auto measure = [&](unsigned loads, int copying, int updating) {
    rank.board.meet();
    rank.board.copying.store(copying);
    rank.board.updating.store(updating);
    start_loads(rank, loads);
    print({.part = "host",
           .rank = &rank,
           .operation = "copies on " + std::to_string(copying),
           .way = std::to_string(updating) + " threads",
           .beside = names_of(loads),
           .rates = rates_alone(rank, 0.4)});
  };
  for (int copying = 1; copying <= rank.of; copying *= 2) {
    for (const unsigned loads : {kUp, kDown, kUp | kDown}) measure(loads, copying, 0);
  }
  for (const int quarters : {1, 2, 3, 4}) {
    const int updating = options.cores * quarters / 4;
    measure(kUpdates, 0, updating);
    for (const unsigned loads : {kUp, kDown, kUp | kDown}) {
      measure(kUpdates | loads, rank.of, updating);
    }
  }
  for (int copying = 1; copying < rank.of; copying *= 2) {
    measure(kUpdates | kUp | kDown, copying, options.cores * 3 / 4);
  }
}

void sum(const Rank& rank, const Options&) {
  constexpr std::size_t kSlice = 128 * kMiB;
  Fabric fabric(rank, {Way::push}, rank.of * kSlice);
  Stopwatch watch(rank, fabric.stream());
  char* slices = device_memory(8 * kSlice);
  char* out = device_memory(kSlice);
  auto* squares = reinterpret_cast<double*>(device_memory(kSlice / kBlock * 2));
  for (int i = 0; i < 8; ++i) {
    fill_random(floats(slices + i * kSlice), kSlice / 4, i, fabric.stream());
  }
  Slices from{};
  for (const std::size_t bytes : {4 * kMiB, kSlice}) {
    const std::size_t elements = bytes / 4;
    const double written = 8.0 / kBlock;
    for (const bool bf16 : {false, true}) {
      for (const int count : {2, 4, 8}) {
        for (int i = 0; i < count; ++i) from[i] = floats(slices + i * bytes);
        const Measured measured = watch.over(
            0.1, [&] { ordered_sum(from, count, elements, bf16, out, squares, fabric.stream()); });
        print({.part = "sum",
               .rank = &rank,
               .operation = "sum of " + std::to_string(count),
               .way = bf16 ? "own memory to bf16" : "own memory to fp32",
               .bytes = bytes,
               .beside = "nothing",
               .seconds = measured.seconds,
               .gpu_bytes = static_cast<double>(elements) * (4 * count + (bf16 ? 2 : 4) + written),
               .note = "GB/s of HBM"});
      }
      for (int i = 0; i < rank.of; ++i) from[i] = floats(fabric.peer(i) + rank.id * bytes);
      const Measured measured = watch.over(
          0.1, [&] { ordered_sum(from, rank.of, elements, bf16, out, squares, fabric.stream()); });
      print({.part = "sum",
             .rank = &rank,
             .operation = "sum of " + std::to_string(rank.of),
             .way = bf16 ? "read from peers to bf16" : "read from peers to fp32",
             .bytes = bytes,
             .beside = "nothing",
             .seconds = measured.seconds,
             .gpu_bytes = static_cast<double>(bytes) * (rank.of - 1),
             .note = "GB/s received over the fabric"});
    }
  }
}

void equality(const Rank& rank, const Options& options) {
  constexpr std::size_t kUnit = 64 * kMiB;
  constexpr std::size_t kElements = kUnit / 4;
  Fabric fabric(rank, options.ways, 2 * kUnit);
  const cudaStream_t stream = fabric.stream();
  char* partials = device_memory(rank.of * kUnit);
  char* expected = device_memory(kUnit);
  auto* squares = reinterpret_cast<double*>(device_memory(kElements / kBlock * 8));
  auto* bits = reinterpret_cast<std::uint64_t*>(device_memory(8));
  check(cudaMemset(bits, 0, 8), "memset");
  check(cudaDeviceSynchronize(), "memset");

  // One GPU's answer: all partial gradients here, added in order.
  Slices from{};
  for (int i = 0; i < rank.of; ++i) {
    from[i] = floats(partials + i * kUnit);
    fill_random(floats(partials + i * kUnit), kElements, i, stream);
  }
  ordered_sum(from, rank.of, kElements, false, expected, squares, stream);
  digest(expected, kElements, 0, bits, stream);
  const std::uint64_t one_gpu = taken(bits, stream);
  digest(squares, 2 * kElements / kBlock, 0, bits, stream);
  const std::uint64_t one_gpu_squares = taken(bits, stream);
  const bool right = as_the_processor_adds(from, rank.of, expected);
  print({.part = "equality",
         .rank = &rank,
         .operation = "one GPU",
         .way = "none",
         .beside = "nothing",
         .note = right ? "bits of the processor" : "OTHER BITS THAN THE PROCESSOR'S"});

  for (const Way way : options.ways) {
    char* gradient = fabric.memory(way);
    const std::size_t received = fabric.half(), result = fabric.half() + kUnit;
    const auto verdict = [&](const std::string& operation, std::size_t piece, bool same) {
      const bool all = rank.board.sum(rank.id, same ? 0 : 1) == 0;
      print({.part = "equality",
             .rank = &rank,
             .operation = operation,
             .way = name_of(way),
             .bytes = piece,
             .beside = "nothing",
             .note = all ? "bits of one GPU on every rank" : "OTHER BITS"});
    };
    for (const std::size_t piece : {kUnit, 16 * kMiB, kMiB}) {
      fill_random(floats(gradient), kElements, rank.id, stream);
      std::uint64_t own_squares = 0;
      const std::size_t slice = piece / rank.of;
      for (std::size_t at = 0; at < kUnit; at += piece) {
        fabric.enqueue(way, Operation::all_to_all, piece, at, received);
        for (int i = 0; i < rank.of; ++i) from[i] = floats(gradient + received + i * slice);
        const std::size_t mine = at + rank.id * slice;
        ordered_sum(from, rank.of, slice / 4, false, gradient + result + mine, squares, stream);
        digest(squares, 2 * slice / 4 / kBlock, 2 * mine / 4 / kBlock, bits, stream);
        fabric.enqueue(way, Operation::all_gather, piece, 0, result + at);
      }
      own_squares = taken(bits, stream);
      digest(gradient + result, kElements, 0, bits, stream);
      const bool same = taken(bits, stream) == one_gpu;
      verdict("ordered_sum", piece, same);
      verdict("squares", piece, rank.board.sum(rank.id, own_squares) == one_gpu_squares);
    }
    if (!Fabric::can(way, Operation::reduce_scatter)) continue;
    fabric.enqueue(way, Operation::reduce_scatter, kUnit, 0, result);
    fabric.enqueue(way, Operation::all_gather, kUnit, 0, result);
    digest(gradient + result, kElements, 0, bits, stream);
    verdict("nccl_reduce_scatter", kUnit, taken(bits, stream) == one_gpu);
  }
}

}  // namespace sluice::several_gpus
