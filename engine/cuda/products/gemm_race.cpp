#include "engine/cuda/products/gemm_race.hpp"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <limits>
#include <random>

#include "engine/cuda/runtime/check.hpp"
#include "engine/optimizer/master_weights.hpp"

namespace sluice::engine {
namespace {

constexpr Seconds kNever{std::numeric_limits<double>::infinity()};
constexpr Seconds kWarmUp{0.3};         ///< Time after which clocks have settled under load.
constexpr Seconds kTimedAtLeast{2e-3};  ///< Shortest GPU time of one sample.
/// Shortest GPU time of a sample, and number of suggestions, of a quick comparison.
constexpr Seconds kQuickAtLeast{0.5e-3};
constexpr std::size_t kQuickSuggestions = 12;
constexpr int kMostRepeats = 50;
constexpr int kRepetitions = 7;
/// Products that take at least this long get fewer repetitions; launches and clocks matter little.
constexpr Seconds kLong{20e-3};
constexpr int kRepetitionsOfLong = 3;  ///< Repetitions of long products.
constexpr std::int64_t kSampledBytes = std::int64_t{4} << 20;
/// Number of values that are drawn; odd, so that the rows of a matrix filled with repetitions of
/// them differ.
constexpr std::size_t kDrawn = (std::size_t{4} << 20) + 13;

std::int64_t rounded_up(std::int64_t elements) { return (elements + 127) / 128 * 128; }

/// Offsets of the bf16 operands of a product: A, B, bias, addend, one after the other.
struct Places {
  std::int64_t b, bias, addend, end;
};
Places places_of(const GemmKey& key) {
  const GemmElements elements = elements_of(key);
  Places places{};
  places.b = rounded_up(elements.a);
  places.bias = places.b + rounded_up(elements.b);
  places.addend = places.bias + rounded_up(key.bias ? key.out : 0);
  const bool apart = key.adds && key.product == GemmProduct::forward;
  places.end = places.addend + rounded_up(apart ? elements.d : 0);
  return places;
}

/// Number of scales, more than an FP8 product's larger operand has.
std::int64_t scales_of(const GemmKey& key) {
  if (!key.fp8) return 0;
  const GemmElements elements = elements_of(key);
  return std::max(elements.a, elements.b) / planner::kFp8Block +
         4 * (key.in + key.out + key.tokens);
}

std::size_t output_bytes(const GemmKey& key) {
  return static_cast<std::size_t>(elements_of(key).d * output_element(key.product).count());
}

}  // namespace

struct GemmRace::Buffer {
  explicit Buffer(std::size_t bytes) : size(bytes) {
    check_cuda(cudaMalloc(&memory, bytes), "memory to tune matrix products in");
  }
  ~Buffer() { cudaFree(memory); }
  Buffer(const Buffer&) = delete;
  Buffer& operator=(const Buffer&) = delete;

  [[nodiscard]] std::uint16_t* halves() const { return static_cast<std::uint16_t*>(memory); }
  /// Fills the buffer with normally distributed bf16 numbers, of whose bits `mask` leaves some.
  void fill_with_normals(cudaStream_t stream, std::uint16_t mask = 0xffff) const {
    std::vector<std::uint16_t> drawn(std::min(kDrawn, size / 2));
    std::minstd_rand engine(1);
    std::normal_distribution<float> normal;
    for (std::uint16_t& value : drawn) {
      value = static_cast<std::uint16_t>(float_to_bf16(normal(engine)) & mask);
    }
    check_cuda(
        cudaMemcpyAsync(memory, drawn.data(), 2 * drawn.size(), cudaMemcpyHostToDevice, stream),
        "random operands");
    for (std::size_t filled = drawn.size(); filled < size / 2;) {
      const std::size_t more = std::min(filled, size / 2 - filled);
      check_cuda(
          cudaMemcpyAsync(halves() + filled, memory, 2 * more, cudaMemcpyDeviceToDevice, stream),
          "random operands");
      filled += more;
    }
    check_cuda(cudaStreamSynchronize(stream), "random operands");
  }

  void* memory = nullptr;
  std::size_t size;
};

/// A stream and the two events that delimit a timing.
struct GemmRace::Stream {
  Stream() {
    check_cuda(cudaStreamCreateWithFlags(&value, cudaStreamNonBlocking), "a stream");
    check_cuda(cudaEventCreate(&begin), "an event");
    check_cuda(cudaEventCreate(&end), "an event");
  }
  ~Stream() {
    if (end != nullptr) cudaEventDestroy(end);
    if (begin != nullptr) cudaEventDestroy(begin);
    if (value != nullptr) cudaStreamDestroy(value);
  }
  Stream(const Stream&) = delete;
  Stream& operator=(const Stream&) = delete;
  cudaStream_t value = nullptr;
  cudaEvent_t begin = nullptr, end = nullptr;
};

struct GemmRace::Entrant {
  const GemmKey& key;
  const GemmCall& call;
  const GemmAlgorithm& algorithm;
  GemmOperands operands;
};

GemmRace::GemmRace(std::span<const GemmKey> keys) : stream_(std::make_unique<Stream>()) {
  std::size_t read = 256, written = 256, scales = 0;
  for (const GemmKey& key : keys) {
    read = std::max(read, 2 * static_cast<std::size_t>(places_of(key).end));
    written = std::max(written, output_bytes(key));
    scales = std::max(scales, static_cast<std::size_t>(scales_of(key)));
  }
  normals_ = std::make_unique<Buffer>(read);
  output_ = std::make_unique<Buffer>(written);
  workspace_ = std::make_unique<Buffer>(static_cast<std::size_t>(kGemmWorkspace.count()));
  normals_->fill_with_normals(stream_->value);
  if (scales == 0) return;
  // Read as E4M3, with a bit of each exponent cleared, no byte is NaN.
  constexpr std::uint16_t kNoNan = 0xf7f7;
  numbers_ = std::make_unique<Buffer>(read);
  numbers_->fill_with_normals(stream_->value, kNoNan);
  scales_ = std::make_unique<Buffer>(4 * scales);
  const std::vector<float> ones(scales, 1.0F);
  check_cuda(cudaMemcpy(scales_->memory, ones.data(), 4 * scales, cudaMemcpyHostToDevice),
             "scales of operands");
}

GemmRace::~GemmRace() = default;

Seconds GemmRace::time(const Entrant& entrant, int repeats, int ahead) const {
  const auto enqueue = [&] {
    return entrant.call.enqueue(handle_, stream_->value, entrant.algorithm, entrant.operands,
                                workspace_->memory) == CUBLAS_STATUS_SUCCESS;
  };
  for (int i = 0; i < ahead; ++i) {
    if (!enqueue()) return kNever;
  }
  check_cuda(cudaEventRecord(stream_->begin, stream_->value), "an event");
  for (int i = 0; i < repeats; ++i) {
    if (!enqueue()) return kNever;
  }
  check_cuda(cudaEventRecord(stream_->end, stream_->value), "an event");
  check_cuda(cudaEventSynchronize(stream_->end), "the product " + to_string(entrant.key));
  float milliseconds = 0;
  check_cuda(cudaEventElapsedTime(&milliseconds, stream_->begin, stream_->end), "a time");
  return Seconds(1e-3 * static_cast<double>(milliseconds) / repeats);
}

std::vector<std::byte> GemmRace::part_of_output(const Entrant& entrant) const {
  const std::size_t bytes = output_bytes(entrant.key);
  check_cuda(cudaMemsetAsync(output_->memory, 0, bytes, stream_->value), "an output");
  check_blas(entrant.call.enqueue(handle_, stream_->value, entrant.algorithm, entrant.operands,
                                  workspace_->memory),
             "the product " + to_string(entrant.key));
  std::vector<std::byte> part(std::min(bytes, static_cast<std::size_t>(kSampledBytes)));
  const std::byte* middle = static_cast<std::byte*>(output_->memory) + (bytes - part.size()) / 2;
  check_cuda(
      cudaMemcpyAsync(part.data(), middle, part.size(), cudaMemcpyDeviceToHost, stream_->value),
      "an output");
  check_cuda(cudaStreamSynchronize(stream_->value), "the product " + to_string(entrant.key));
  return part;
}

bool GemmRace::repeats_its_bits(const Entrant& entrant) const {
  return part_of_output(entrant) == part_of_output(entrant);
}

int GemmRace::repeats_of(const Entrant& entrant, Seconds least) const {
  const Seconds once = std::max(time(entrant, 1), Seconds(1e-6));
  return static_cast<int>(std::clamp(std::ceil(least / once), 1.0, double{kMostRepeats}));
}

void GemmRace::warm_up(const Entrant& entrant, int repeats) {
  if (warm_) return;
  const auto begin = std::chrono::steady_clock::now();
  while (Seconds(std::chrono::steady_clock::now() - begin) < kWarmUp) {
    if (time(entrant, repeats) == kNever) return;
  }
  warm_ = true;
}

GemmEntry GemmRace::run(const GemmKey& key, GemmCare care) {
  const GemmCall call(key);
  std::vector<GemmAlgorithm> algorithms = call.suggestions(handle_);
  const bool quick = care == GemmCare::quick;
  if (quick) algorithms.resize(std::min(algorithms.size(), kQuickSuggestions));
  const Places places = places_of(key);
  std::uint16_t* normals = normals_->halves();
  check(2 * static_cast<std::size_t>(places.end) <= normals_->size &&
            output_bytes(key) <= output_->size,
        "a race runs the products it was made for");
  const bool onto_itself = key.product != GemmProduct::forward;
  GemmOperands operands{.a = normals, .b = normals + places.b, .d = output_->memory};
  if (key.bias) operands.bias = normals + places.bias;
  if (key.adds) operands.addend = onto_itself ? output_->memory : normals + places.addend;
  if (key.fp8) {
    operands.a = numbers_->halves();
    operands.b = numbers_->halves() + places.b;
    operands.a_scales = operands.b_scales = static_cast<const float*>(scales_->memory);
  }
  check_cuda(cudaMemsetAsync(output_->memory, 0, output_bytes(key), stream_->value), "an output");

  std::vector<Entrant> entrants;
  entrants.reserve(algorithms.size());
  for (const GemmAlgorithm& algorithm : algorithms) {
    entrants.push_back({key, call, algorithm, operands});
  }
  const Seconds least = quick ? kQuickAtLeast : kTimedAtLeast;
  warm_up(entrants.front(), repeats_of(entrants.front(), least));
  // One measurement of each, then repetitions of those that may win, in turn, so that a drifting
  // clock affects all alike.
  const int repeats = repeats_of(entrants.front(), least);
  std::vector<Seconds> times;
  times.reserve(entrants.size());
  for (const Entrant& entrant : entrants) times.push_back(time(entrant, repeats));
  const auto entry = [&](std::size_t chosen, Seconds first_time) {
    return GemmEntry{.algorithm = algorithms[chosen],
                     .configuration = to_string(configuration_of(algorithms[chosen])),
                     .time = times[chosen],
                     .first_time = std::isfinite(first_time.count()) ? first_time : times[chosen],
                     .suggestion = static_cast<std::int64_t>(chosen),
                     .suggestions = static_cast<std::int64_t>(times.size())};
  };
  if (quick) return entry(choose(times), times.front());
  const std::vector<std::size_t> remaining = finalists(times);
  std::vector<std::vector<Seconds>> samples(times.size());
  const int repetitions =
      *std::ranges::min_element(times) < kLong ? kRepetitions : kRepetitionsOfLong;
  for (int repetition = 0; repetition < repetitions; ++repetition) {
    for (const std::size_t i : remaining) {
      samples[i].push_back(time(entrants[i], repeats, repeats > 1 ? 1 : 0));
    }
  }
  std::ranges::fill(times, kNever);
  for (const std::size_t i : remaining) times[i] = median(samples[i]);
  const Seconds first_time = times.front();
  for (;;) {
    const std::size_t chosen = choose(times);
    if (!repeats_its_bits(entrants[chosen])) {
      times[chosen] = kNever;
      continue;
    }
    return entry(chosen, first_time);
  }
}

}  // namespace sluice::engine
