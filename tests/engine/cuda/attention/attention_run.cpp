#include "tests/engine/cuda/attention/attention_run.hpp"

#include <cuda_runtime_api.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdio>
#include <random>

#include "engine/cuda/runtime/device_query.hpp"
#include "sim/error.hpp"
#include "tests/engine/cuda/attention/attention_reference.hpp"

namespace sluice::engine {
namespace {

double to_double(Bf16 bits) { return std::bit_cast<float>(std::uint32_t{bits} << 16U); }

/// Standard normal, rounded to bf16.
std::vector<Bf16> random_bf16(std::int64_t count, unsigned seed) {
  std::mt19937 random(seed);
  std::normal_distribution<float> normal;
  std::vector<Bf16> values(static_cast<std::size_t>(count));
  for (Bf16& value : values) {
    value = static_cast<Bf16>((std::bit_cast<std::uint32_t>(normal(random)) + 0x8000U) >> 16U);
  }
  return values;
}

std::vector<double> to_doubles(const std::vector<Bf16>& values) {
  std::vector<double> doubles;
  doubles.reserve(values.size());
  for (const Bf16 value : values) doubles.push_back(to_double(value));
  return doubles;
}

struct FreeDevice {
  void operator()(void* memory) const { cudaFree(memory); }
};

/// Device memory that starts as NaN, so that reads of unwritten memory show.
class DeviceBuffer {
 public:
  explicit DeviceBuffer(std::size_t bytes) : bytes_(bytes) {
    void* memory = nullptr;
    if (cudaMalloc(&memory, std::max<std::size_t>(bytes, 1)) != cudaSuccess) {
      throw EnvironmentError("the test got no " + std::to_string(bytes) +
                             " bytes of device memory");
    }
    memory_.reset(memory);
    cudaMemset(memory, 0xFF, bytes);
  }
  template <class T>
  explicit DeviceBuffer(const std::vector<T>& values) : DeviceBuffer(values.size() * sizeof(T)) {
    cudaMemcpy(get(), values.data(), bytes_, cudaMemcpyHostToDevice);
  }
  [[nodiscard]] void* get() const { return memory_.get(); }
  [[nodiscard]] void* at(std::int64_t element) const {
    return static_cast<Bf16*>(memory_.get()) + element;
  }
  template <class T>
  [[nodiscard]] std::vector<T> read() const {
    std::vector<T> values(bytes_ / sizeof(T));
    cudaMemcpy(values.data(), get(), bytes_, cudaMemcpyDeviceToHost);
    return values;
  }

 private:
  std::size_t bytes_;
  std::unique_ptr<void, FreeDevice> memory_;
};

std::size_t size_of(Bytes bytes) { return static_cast<std::size_t>(bytes.count()); }

/// Columns [begin, begin + count) of rows of `row` elements.
struct Columns {
  const char* name;
  std::int64_t row, begin, count;
  /// Number of roundings to bf16 on the way to a result: the bound of an element's error in units
  /// of 2^-8 times its magnitude.
  double roundings;
};

/// Expects that no element errs by more than its roundings can explain, and that the norm of the
/// error is small: roundings are independent, each changes a value by 0.4 * 2^-8 of it (root mean
/// square), so four of them change the result's norm by 0.8 * 2^-8 of it; 2 * 2^-8 is refused.
void expect_close(const std::vector<Bf16>& values, const Bounded& expected,
                  const Columns& columns) {
  constexpr double kUnit = 1.0 / 256;
  constexpr double kSecondOrder = 1.05;
  double error_squares = 0;
  double squares = 0;
  double worst = 0;
  for (std::size_t i = 0; i < values.size(); ++i) {
    const std::int64_t column = static_cast<std::int64_t>(i) % columns.row;
    if (column < columns.begin || column >= columns.begin + columns.count) continue;
    const double error = to_double(values[i]) - expected.value[i];
    const double bound = kSecondOrder * kUnit * columns.roundings * expected.magnitude[i] + 1e-6;
    if (!(std::abs(error) <= bound)) {
      FAIL() << columns.name << "[" << static_cast<std::int64_t>(i) / columns.row << ", " << column
             << "] is " << to_double(values[i]) << ", expected " << expected.value[i] << " +- "
             << bound;
    }
    worst = std::max(worst, std::abs(error) / bound);
    error_squares += error * error;
    squares += expected.value[i] * expected.value[i];
  }
  const double relative = std::sqrt(error_squares / squares);
  testing::Test::RecordProperty(columns.name, std::to_string(relative));
  std::printf("  %-5s relative error %.2e, worst element %.2f of its bound\n", columns.name,
              relative, worst);
  EXPECT_LE(relative, 2 * kUnit) << columns.name;
}

/// The shape with rows `padding` elements longer than the heads need.
AttentionShape rows(AttentionShape shape, std::int64_t padding = 0) {
  shape.qkv_row = (shape.heads + 2 * shape.kv_heads) * shape.head_dim + padding;
  shape.out_row = shape.heads * shape.head_dim + padding;
  return shape;
}

}  // namespace

AttentionInputs::AttentionInputs(const AttentionShape& shape)
    : qkv(random_bf16(shape.sequences * shape.length * shape.qkv_row, 1)),
      d_out(random_bf16(shape.sequences * shape.length * shape.out_row, 2)) {
  if (!shape.documents) return;
  std::mt19937 random(3);
  for (std::int64_t sequence = 0; sequence < shape.sequences; ++sequence) {
    std::int64_t start = 0;
    std::int64_t end = 0;
    for (std::int64_t i = 0; i < shape.length; ++i) {
      if (i == end) {
        start = i;
        end += 1 + static_cast<std::int64_t>(random() % static_cast<unsigned>(shape.length / 2));
      }
      starts.push_back(static_cast<std::int32_t>(start));
    }
  }
}

AttentionResults run(const CudaAttention& attention, const AttentionShape& shape,
                     const AttentionInputs& inputs) {
  const std::int64_t k_column = shape.heads * shape.head_dim;
  const std::int64_t v_column = k_column + shape.kv_heads * shape.head_dim;
  const DeviceBuffer qkv(inputs.qkv);
  const DeviceBuffer d_out(inputs.d_out);
  const DeviceBuffer starts(inputs.starts);
  const auto* documents = static_cast<const std::int32_t*>(starts.get());
  const DeviceBuffer out(inputs.d_out.size() * sizeof(Bf16));
  const DeviceBuffer d_qkv(inputs.qkv.size() * sizeof(Bf16));
  const DeviceBuffer lse(static_cast<std::size_t>(shape.sequences * shape.heads * shape.length) *
                         sizeof(float));
  const DeviceBuffer forward(size_of(attention.forward_workspace()));
  const DeviceBuffer backward(size_of(attention.backward_workspace()));
  cudaStream_t stream = nullptr;
  cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking);
  cudaDeviceSynchronize();
  attention.forward(stream, qkv.get(), qkv.at(k_column), qkv.at(v_column), out.get(),
                    static_cast<float*>(lse.get()), forward.get(), documents);
  attention.backward(stream, qkv.get(), qkv.at(k_column), qkv.at(v_column), out.get(),
                     static_cast<const float*>(lse.get()), d_out.get(), d_qkv.get(),
                     d_qkv.at(k_column), d_qkv.at(v_column), backward.get(), documents);
  EXPECT_EQ(cudaStreamSynchronize(stream), cudaSuccess);
  cudaStreamDestroy(stream);
  return {.out = out.read<Bf16>(), .d_qkv = d_qkv.read<Bf16>(), .lse = lse.read<float>()};
}

void expect_agreement(const AttentionResults& results, const AttentionShape& shape,
                      const AttentionInputs& inputs) {
  const AttentionReference reference = reference_attention(
      shape,
      {.qkv = to_doubles(inputs.qkv), .d_out = to_doubles(inputs.d_out), .starts = inputs.starts});
  // out: weights, out. d_q: weights where they meet d_weights, d_scores, d_q. d_k and d_v also:
  // each head's share before a group is added up. Where the magnitude holds a term twice, it counts
  // once.
  const std::int64_t k_column = shape.heads * shape.head_dim;
  const std::int64_t kv_count = shape.kv_heads * shape.head_dim;
  expect_close(
      results.out, reference.out,
      {.name = "out", .row = shape.out_row, .begin = 0, .count = k_column, .roundings = 1});
  expect_close(
      results.d_qkv, reference.d_qkv,
      {.name = "d_q", .row = shape.qkv_row, .begin = 0, .count = k_column, .roundings = 3});
  expect_close(
      results.d_qkv, reference.d_qkv,
      {.name = "d_k", .row = shape.qkv_row, .begin = k_column, .count = kv_count, .roundings = 4});
  expect_close(results.d_qkv, reference.d_qkv,
               {.name = "d_v",
                .row = shape.qkv_row,
                .begin = k_column + kv_count,
                .count = kv_count,
                .roundings = 3});
  // fp32 throughout: head_dim products of magnitude up to 16 * 2^-3, each sum off by 2^-22 of it.
  for (std::size_t i = 0; i < reference.lse.size(); ++i) {
    ASSERT_NEAR(results.lse[i], reference.lse[i], 1e-4) << "lse[" << i << "]";
  }
}

void expect_untouched(const std::vector<Bf16>& values, std::int64_t row, std::int64_t used) {
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (static_cast<std::int64_t>(i) % row >= used) {
      ASSERT_EQ(values[i], 0xFFFF) << "element " << i;
    }
  }
}

void CudaAttentionTest::SetUp() {
  const cuda::DeviceQuery query = cuda::query_devices();
  if (query.devices.empty()) GTEST_SKIP() << "no CUDA device: " << query.reason.value_or("");
  if (query.devices.front().compute_capability < cuda::Version{8, 0}) {
    GTEST_SKIP() << "needs compute capability 8.0";
  }
  cudnn_ = std::make_unique<Cudnn>();  // With a GPU present, a library that fails is a failure.
}

std::vector<AttentionShape> attention_shapes() {
  return {rows({.sequences = 2, .length = 128, .heads = 4, .kv_heads = 2, .head_dim = 64}),
          rows({.sequences = 1, .length = 1024, .heads = 28, .kv_heads = 4, .head_dim = 128}),
          rows({.sequences = 2, .length = 256, .heads = 16, .kv_heads = 16, .head_dim = 128}),
          rows({.sequences = 3, .length = 200, .heads = 6, .kv_heads = 2, .head_dim = 64}, 24),
          rows({.sequences = 2, .length = 512, .heads = 4, .kv_heads = 2, .head_dim = 128}),
          rows({.sequences = 2,
                .length = 384,
                .heads = 4,
                .kv_heads = 2,
                .head_dim = 128,
                .window = 100}),
          rows({.sequences = 1,
                .length = 1000,
                .heads = 2,
                .kv_heads = 1,
                .head_dim = 128,
                .window = 300}),
          rows({.sequences = 3,
                .length = 384,
                .heads = 4,
                .kv_heads = 2,
                .head_dim = 128,
                .documents = true}),
          rows({.sequences = 1,
                .length = 1000,
                .heads = 4,
                .kv_heads = 4,
                .head_dim = 64,
                .documents = true})};
}

std::string attention_shape_name(const testing::TestParamInfo<AttentionShape>& shape) {
  const AttentionShape& s = shape.param;
  return std::to_string(s.sequences) + "x" + std::to_string(s.length) + "Heads" +
         std::to_string(s.heads) + "over" + std::to_string(s.kv_heads) + "of" +
         std::to_string(s.head_dim) + (s.window ? "Window" + std::to_string(*s.window) : "") +
         (s.documents ? "Documents" : "");
}

}  // namespace sluice::engine
