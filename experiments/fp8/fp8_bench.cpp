// Times and errors of block-scaled FP8 products on one GPU: cuBLASLt's algorithms for the three
// directions of a 7 B model's layers, and the kernels that quantize their operands. Prints rows of
// text: what, sizes, microseconds, TFLOP/s or GB/s, and errors.
#include <cublasLt.h>

#include <array>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "engine/cuda/kernels/activation.hpp"
#include "engine/cuda/kernels/quantize.hpp"
#include "experiments/cuda_kernels/cuda_bench.hpp"

namespace {

using namespace sluice;
using namespace sluice::engine;

constexpr std::size_t kScratch = std::size_t{64} << 20;

void ok(cublasStatus_t status, const char* what) {
  if (status == CUBLAS_STATUS_SUCCESS) return;
  std::printf("FAILED %s: %s\n", what, cublasLtGetStatusString(status));
  std::fflush(stdout);
}

enum class Mode { bf16, tensor, block_weight, block_vectors };
const char* name(Mode mode) {
  switch (mode) {
    case Mode::bf16:
      return "bf16";
    case Mode::tensor:
      return "e4m3 tensor";
    case Mode::block_weight:
      return "e4m3 128x128 x 1x128";
    case Mode::block_vectors:
      return "e4m3 1x128 x 1x128";
  }
  return "";
}

struct Product {
  Mode mode;
  std::int64_t m, n, k;  // Column-major D [m, n] = A^T B, A [k, m], B [k, n].
  bool fp32_out, adds;
};

struct Operands {
  const void *a, *b;
  const void *a_scale, *b_scale;
  void* d;
};

class Call {
 public:
  Call(cublasLtHandle_t handle, const Product& p, const Operands& operands, void* scratch)
      : handle_(handle), p_(p), o_(operands), scratch_(scratch) {
    ok(cublasLtMatmulDescCreate(&desc_, CUBLAS_COMPUTE_32F, CUDA_R_32F), "desc");
    set(CUBLASLT_MATMUL_DESC_TRANSA, CUBLAS_OP_T);
    set(CUBLASLT_MATMUL_DESC_TRANSB, CUBLAS_OP_N);
    const cudaDataType_t in = p.mode == Mode::bf16 ? CUDA_R_16BF : CUDA_R_8F_E4M3;
    const cudaDataType_t out = p.fp32_out ? CUDA_R_32F : CUDA_R_16BF;
    layout(a_, in, p.k, p.m);
    layout(b_, in, p.k, p.n);
    layout(d_, out, p.m, p.n);
    if (p.mode == Mode::bf16) return;
    if (p.mode != Mode::tensor) {
      set(CUBLASLT_MATMUL_DESC_A_SCALE_MODE, p.mode == Mode::block_weight
                                                 ? CUBLASLT_MATMUL_MATRIX_SCALE_BLK128x128_32F
                                                 : CUBLASLT_MATMUL_MATRIX_SCALE_VEC128_32F);
      set(CUBLASLT_MATMUL_DESC_B_SCALE_MODE, CUBLASLT_MATMUL_MATRIX_SCALE_VEC128_32F);
    }
    set(CUBLASLT_MATMUL_DESC_A_SCALE_POINTER, operands.a_scale);
    set(CUBLASLT_MATMUL_DESC_B_SCALE_POINTER, operands.b_scale);
  }
  int suggestions() {
    cublasLtMatmulPreference_t preference = nullptr;
    ok(cublasLtMatmulPreferenceCreate(&preference), "preference");
    const auto most = static_cast<std::uint64_t>(kScratch);
    ok(cublasLtMatmulPreferenceSetAttribute(preference, CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES,
                                            &most, sizeof most),
       "scratch");
    ok(cublasLtMatmulAlgoGetHeuristic(handle_, desc_, a_, b_, d_, d_, preference, 16,
                                      results_.data(), &found_),
       "heuristic");
    return found_;
  }
  std::string settings(int i) const {
    const auto get = [&](cublasLtMatmulAlgoConfigAttributes_t attribute) {
      std::uint32_t value = 0;
      std::size_t written = 0;
      cublasLtMatmulAlgoConfigGetAttribute(&results_[i].algo, attribute, &value, 4, &written);
      return std::to_string(value);
    };
    return "tile " + get(CUBLASLT_ALGO_CONFIG_TILE_ID) + " stages " +
           get(CUBLASLT_ALGO_CONFIG_STAGES_ID) + " split_k " +
           get(CUBLASLT_ALGO_CONFIG_SPLITK_NUM) + " custom " +
           get(CUBLASLT_ALGO_CONFIG_CUSTOM_OPTION);
  }
  cublasStatus_t run(int i, cudaStream_t stream) const {
    const float alpha = 1, beta = p_.adds ? 1 : 0;
    return cublasLtMatmul(handle_, desc_, &alpha, o_.a, a_, o_.b, b_, &beta, o_.d, d_, o_.d, d_,
                          &results_[i].algo, scratch_, kScratch, stream);
  }

 private:
  template <class V>
  void set(cublasLtMatmulDescAttributes_t attribute, V value) {
    ok(cublasLtMatmulDescSetAttribute(desc_, attribute, &value, sizeof value), "attribute");
  }
  void layout(cublasLtMatrixLayout_t& to, cudaDataType_t type, std::int64_t rows,
              std::int64_t cols) {
    ok(cublasLtMatrixLayoutCreate(&to, type, static_cast<std::uint64_t>(rows),
                                  static_cast<std::uint64_t>(cols), rows),
       "layout");
  }
  cublasLtHandle_t handle_;
  Product p_;
  Operands o_;
  void* scratch_;
  cublasLtMatmulDesc_t desc_ = nullptr;
  cublasLtMatrixLayout_t a_ = nullptr, b_ = nullptr, d_ = nullptr;
  std::array<cublasLtMatmulHeuristicResult_t, 16> results_{};
  int found_ = 0;
};

template <class Work>
double seconds_of(cudaStream_t stream, int repeats, Work work) {
  cudaEvent_t begin, end;
  cudaEventCreate(&begin);
  cudaEventCreate(&end);
  work();
  cudaEventRecord(begin, stream);
  for (int i = 0; i < repeats; ++i) work();
  cudaEventRecord(end, stream);
  cudaEventSynchronize(end);
  float ms = 0;
  cudaEventElapsedTime(&ms, begin, end);
  cudaEventDestroy(begin);
  cudaEventDestroy(end);
  return ms / 1000.0 / repeats;
}

bench::DeviceMemory bytes(std::int64_t count) { return bench::allocate(Bytes(count)); }

template <class T>
std::vector<T> fetched(const void* device, std::int64_t count) {
  std::vector<T> host(static_cast<std::size_t>(count));
  cudaMemcpy(host.data(), device, static_cast<std::size_t>(count) * sizeof(T),
             cudaMemcpyDeviceToHost);
  return host;
}
float value(std::uint16_t bits) { return std::bit_cast<float>(std::uint32_t{bits} << 16); }

struct Bench {
  cudaStream_t stream = nullptr;
  cublasLtHandle_t handle = nullptr;
  bench::DeviceMemory scratch = bytes(kScratch);
  bench::DeviceMemory ones = bench::repeated(std::vector<float>{1.0f}, 1024);
  std::int64_t budget_runs = 8;

  // Returns the fastest suggestion.
  int race(const char* what, Call& call, const Product& p) {
    const int found = call.suggestions();
    int best = -1;
    double least = 1e9, first = 0;
    for (int i = 0; i < found && i < 6; ++i) {
      if (call.run(i, stream) != CUBLAS_STATUS_SUCCESS) continue;
      const double t = seconds_of(stream, 2, [&] { call.run(i, stream); });
      if (i == 0) first = t;
      if (t < least) {
        least = t;
        best = i;
      }
    }
    if (best < 0) {
      std::printf("%-10s %-22s m %lld n %lld k %lld: no algorithm (of %d)\n", what, name(p.mode),
                  (long long)p.m, (long long)p.n, (long long)p.k, found);
      return best;
    }
    const int repeats = std::max(5, static_cast<int>(0.12 / least));
    const double t = seconds_of(stream, repeats, [&] { call.run(best, stream); });
    std::printf(
        "%-10s %-22s m %lld n %lld k %lld%s: %.0f us %.0f TFLOP/s (first %.0f us, %d of %d, %s)\n",
        what, name(p.mode), (long long)p.m, (long long)p.n, (long long)p.k, p.adds ? " adds" : "",
        t * 1e6, 2.0 * p.m * p.n * p.k / t / 1e12, first * 1e6, best, found,
        call.settings(best).c_str());
    std::fflush(stdout);
    return best;
  }
};

struct Form {
  bench::DeviceMemory values, scales;
  [[nodiscard]] cuda::Quantized get() const {
    return {static_cast<std::uint8_t*>(values.get()), static_cast<float*>(scales.get())};
  }
};
Form vectors(std::int64_t rows, std::int64_t k) {
  return {bytes(rows * k), bytes(4 * (k + 127) / 128 * cuda::scale_stride(rows) + 4096)};
}

double rms_error(const std::vector<float>& got, const std::vector<float>& want) {
  double error = 0, size = 0;
  for (std::size_t i = 0; i < got.size(); ++i) {
    error += (double(got[i]) - want[i]) * (double(got[i]) - want[i]);
    size += double(want[i]) * want[i];
  }
  return std::sqrt(error / size);
}

// Rows of y = x W^T in fp64, from bf16 operands.
std::vector<float> reference(const std::vector<std::uint16_t>& a,
                             const std::vector<std::uint16_t>& b, std::int64_t m, std::int64_t n,
                             std::int64_t k) {
  std::vector<float> d(static_cast<std::size_t>(m * n));
  for (std::int64_t j = 0; j < n; ++j)
    for (std::int64_t i = 0; i < m; ++i) {
      double sum = 0;
      for (std::int64_t l = 0; l < k; ++l) sum += double(value(a[i * k + l])) * value(b[j * k + l]);
      d[j * m + i] = static_cast<float>(sum);
    }
  return d;
}

void accuracy(Bench& bench) {
  const std::int64_t T = 512, in = 1024, out = 640;  // Odd numbers of blocks: 8, 5 and 4.
  auto x = bench::random_bf16(T * in), w = bench::random_bf16(in * out);
  auto xh = fetched<std::uint16_t>(x.get(), T * in), wh = fetched<std::uint16_t>(w.get(), in * out);
  // Rows and blocks of very different size, so that a wrong scale cannot pass.
  for (std::int64_t i = 0; i < T * in; ++i)
    xh[i] = std::bit_cast<std::uint32_t>(
                std::ldexp(value(xh[i]), int((i / in * 7 + i % in / 128 * 3) % 9) - 4)) >>
            16;
  for (std::int64_t i = 0; i < in * out; ++i)
    wh[i] = std::bit_cast<std::uint32_t>(
                std::ldexp(value(wh[(i * 31) % (in * out)]),
                           int((i / in / 128 * 5 + i % in / 128 * 2) % 7) - 3)) >>
            16;
  cudaMemcpy(x.get(), xh.data(), xh.size() * 2, cudaMemcpyHostToDevice);
  cudaMemcpy(w.get(), wh.data(), wh.size() * 2, cudaMemcpyHostToDevice);
  const auto X = static_cast<const std::uint16_t*>(x.get());
  const auto W = static_cast<const std::uint16_t*>(w.get());
  Form xa = vectors(T, in), xt = vectors(in, T), wa = vectors(out, in), wt = vectors(in, out);
  cuda::quantize(bench.stream, X, T, in, in, {xa.get(), xt.get()});
  cuda::quantize_weight(bench.stream, W, out, in, {wa.get(), wt.get()});
  auto y = bytes(T * out * 4);
  const auto want = reference(wh, xh, out, T, in);
  for (const Mode mode : {Mode::block_weight, Mode::block_vectors}) {
    const Product p{mode, out, T, in, true, false};
    Form wv = vectors(out, in);
    cuda::quantize(bench.stream, W, out, in, in, {wv.get(), {}});
    const Form& a = mode == Mode::block_weight ? wa : wv;
    Call call(bench.handle, p,
              {a.values.get(), xa.values.get(), a.scales.get(), xa.scales.get(), y.get()},
              bench.scratch.get());
    const int found = call.suggestions();
    for (int i = 0; i < found && i < 3; ++i) {
      cudaMemset(y.get(), 0, T * out * 4);
      call.run(i, bench.stream);
      cudaDeviceSynchronize();
      std::printf("accuracy forward %s suggestion %d: relative rms error %.4g\n", name(mode), i,
                  rms_error(fetched<float>(y.get(), T * out), want));
    }
  }
  // Weight gradient: x^T [in, T] with y-like operand d = first `out` columns of x.
  {
    auto d = bytes(T * out * 2);
    std::vector<std::uint16_t> dh(T * out), xT(in * T), dT(out * T);
    for (std::int64_t t = 0; t < T; ++t)
      for (std::int64_t o = 0; o < out; ++o) dh[t * out + o] = xh[t * in + (in - 1 - o)];
    for (std::int64_t t = 0; t < T; ++t) {
      for (std::int64_t i = 0; i < in; ++i) xT[i * T + t] = xh[t * in + i];
      for (std::int64_t o = 0; o < out; ++o) dT[o * T + t] = dh[t * out + o];
    }
    cudaMemcpy(d.get(), dh.data(), dh.size() * 2, cudaMemcpyHostToDevice);
    Form dt = vectors(out, T);
    cuda::quantize(bench.stream, static_cast<const std::uint16_t*>(d.get()), T, out, out,
                   {{}, dt.get()});
    auto g = bytes(in * out * 4);
    const Product p{Mode::block_vectors, in, out, T, true, false};
    Call call(bench.handle, p,
              {xt.values.get(), dt.values.get(), xt.scales.get(), dt.scales.get(), g.get()},
              bench.scratch.get());
    call.suggestions();
    call.run(0, bench.stream);
    cudaDeviceSynchronize();
    const auto once = fetched<float>(g.get(), in * out);
    std::printf("accuracy weight gradient: relative rms error %.4g\n",
                rms_error(once, reference(xT, dT, in, out, T)));
    const Product q{Mode::block_vectors, in, out, T, true, true};
    Call again(bench.handle, q,
               {xt.values.get(), dt.values.get(), xt.scales.get(), dt.scales.get(), g.get()},
               bench.scratch.get());
    again.suggestions();
    again.run(0, bench.stream);
    cudaDeviceSynchronize();
    auto twice = fetched<float>(g.get(), in * out);
    double most = 0;
    for (std::size_t i = 0; i < twice.size(); ++i)
      most = std::max(most, std::abs(double(twice[i]) - 2.0 * once[i]));
    std::printf("accuracy weight gradient added onto itself: largest difference from twice %.4g\n",
                most);
  }
  // Input gradient: needs W transposed.
  {
    std::vector<std::uint16_t> wT(in * out);
    for (std::int64_t o = 0; o < out; ++o)
      for (std::int64_t i = 0; i < in; ++i) wT[i * out + o] = wh[o * in + i];
    std::vector<std::uint16_t> dh(T * out);
    for (std::int64_t t = 0; t < T; ++t)
      for (std::int64_t o = 0; o < out; ++o) dh[t * out + o] = xh[t * in + (in - 1 - o)];
    auto d = bytes(T * out * 2), dx = bytes(T * in * 4);
    cudaMemcpy(d.get(), dh.data(), dh.size() * 2, cudaMemcpyHostToDevice);
    Form da = vectors(T, out);
    cuda::quantize(bench.stream, static_cast<const std::uint16_t*>(d.get()), T, out, out,
                   {da.get(), {}});
    const Product p{Mode::block_weight, in, T, out, true, false};
    Call call(bench.handle, p,
              {wt.values.get(), da.values.get(), wt.scales.get(), da.scales.get(), dx.get()},
              bench.scratch.get());
    call.suggestions();
    call.run(0, bench.stream);
    cudaDeviceSynchronize();
    std::printf("accuracy input gradient: relative rms error %.4g\n",
                rms_error(fetched<float>(dx.get(), T * in), reference(wT, dh, in, T, out)));
  }
}

struct Layer {
  const char* name;
  std::int64_t in, out;
};

void products(Bench& bench, std::int64_t T) {
  constexpr Layer kLayers[] = {
      {"qkv", 3584, 4608}, {"o", 3584, 3584}, {"gate_up", 3584, 37888}, {"down", 18944, 3584}};
  for (const Layer& l : kLayers) {
    auto x = bench::random_bf16(T * l.in), w = bench::random_bf16(l.in * l.out),
         dy = bench::random_bf16(T * l.out);
    Form xa = vectors(T, l.in), xt = vectors(l.in, T), wa = vectors(l.out, l.in),
         wt = vectors(l.in, l.out);
    Form da = vectors(T, l.out), dt = vectors(l.out, T);
    const auto u16 = [](const bench::DeviceMemory& m) {
      return static_cast<const std::uint16_t*>(m.get());
    };
    const auto report = [&](const char* what, double gb, auto work) {
      const double t = seconds_of(bench.stream, 10, work);
      std::printf("%-10s %s T %lld: %.0f us, %.0f GB/s\n", l.name, what, (long long)T, t * 1e6,
                  gb / t);
    };
    const double xe = 1e-9 * T * l.in, we = 1e-9 * l.in * l.out, de = 1e-9 * T * l.out;
    report("quantize x along", 3 * xe, [&] {
      cuda::quantize(bench.stream, u16(x), T, l.in, l.in, {xa.get(), {}});
    });
    report("quantize x across", 3 * xe, [&] {
      cuda::quantize(bench.stream, u16(x), T, l.in, l.in, {{}, xt.get()});
    });
    report("quantize x both", 4 * xe, [&] {
      cuda::quantize(bench.stream, u16(x), T, l.in, l.in, {xa.get(), xt.get()});
    });
    report("quantize dy both", 4 * de, [&] {
      cuda::quantize(bench.stream, u16(dy), T, l.out, l.out, {da.get(), dt.get()});
    });
    report("quantize weight along", 3 * we, [&] {
      cuda::quantize_weight(bench.stream, u16(w), l.out, l.in, {wa.get(), {}});
    });
    report("quantize weight both", 4 * we, [&] {
      cuda::quantize_weight(bench.stream, u16(w), l.out, l.in, {wa.get(), wt.get()});
    });
    if (l.out > 30000) {
      auto act = bytes(T * l.out);
      Form aa = vectors(T, l.out / 2), at = vectors(l.out / 2, T);
      report("activate (bf16)", 3 * de, [&] {
        cuda::activate(bench.stream, planner::Activation::silu,
                       {u16(dy), u16(dy) + l.out / 2, l.out}, T, l.out / 2,
                       static_cast<std::uint16_t*>(act.get()));
      });
      report("quantize activation along", 2.5 * de, [&] {
        cuda::quantize_activation(bench.stream, planner::Activation::silu, u16(dy), T, l.out / 2,
                                  l.out, {aa.get(), {}});
      });
      report("quantize activation across", 2.5 * de, [&] {
        cuda::quantize_activation(bench.stream, planner::Activation::silu, u16(dy), T, l.out / 2,
                                  l.out, {{}, at.get()});
      });
    }
    auto y = bytes(T * std::max(l.in, l.out) * 2), g = bytes(l.in * l.out * 4);
    const auto raced = [&](const char* what, Product p, Operands o) {
      Call call(bench.handle, p, o, bench.scratch.get());
      char text[64];
      std::snprintf(text, sizeof text, "%s %s", l.name, what);
      const int best = bench.race(text, call, p);
      if (best < 0 || p.mode == Mode::bf16 || p.mode == Mode::tensor) return;
      const std::int64_t elements = std::min<std::int64_t>(p.m * p.n, 1 << 24);
      const std::size_t size = std::size_t(elements) * (p.fp32_out ? 4 : 2);
      const auto snapshot = [&] {
        cudaMemset(o.d, 0, size);
        call.run(best, bench.stream);
        cudaDeviceSynchronize();
        return fetched<std::uint8_t>(o.d, std::int64_t(size));
      };
      const auto one = snapshot(), two = snapshot();
      std::printf("  bits repeat: %s", one == two ? "yes" : "NO");
      if (!p.fp32_out) {  // Half of the tokens.
        Product half = p;
        half.n /= 2;
        Operands h = o;
        // Scales of half of the rows have another stride: quantize them anew.
        Form rows = vectors(half.n, p.k);
        const auto* source = what[0] == 'f' ? u16(x) : u16(dy);
        cuda::quantize(bench.stream, source, half.n, p.k, p.k, {rows.get(), {}});
        h.b = rows.values.get();
        h.b_scale = rows.scales.get();
        Call part(bench.handle, half, h, bench.scratch.get());
        part.suggestions();
        cudaMemset(o.d, 0, size);
        part.run(0, bench.stream);
        cudaDeviceSynchronize();
        const std::int64_t shared = std::min<std::int64_t>(half.m * half.n, elements) * 2;
        const auto three = fetched<std::uint8_t>(o.d, shared);
        std::printf("; half of the tokens, first suggestion: %s",
                    std::memcmp(one.data(), three.data(), std::size_t(shared)) == 0 ? "same bits"
                                                                                    : "other bits");
      }
      std::printf("\n");
    };
    void* one = bench.ones.get();
    for (const Mode mode : {Mode::bf16, Mode::tensor, Mode::block_weight}) {
      const bool fp8 = mode != Mode::bf16, block = mode == Mode::block_weight;
      raced("forward", {mode, l.out, T, l.in, false, false},
            {fp8 ? wa.values.get() : w.get(), fp8 ? xa.values.get() : x.get(),
             block ? wa.scales.get() : one, block ? xa.scales.get() : one, y.get()});
      raced("dgrad", {mode, l.in, T, l.out, false, false},
            {fp8 ? wt.values.get() : w.get(), fp8 ? da.values.get() : dy.get(),
             block ? wt.scales.get() : one, block ? da.scales.get() : one, y.get()});
      const Mode vector = block ? Mode::block_vectors : mode;
      for (const bool adds : {false, true}) {
        raced("wgrad", {vector, l.in, l.out, T, true, adds},
              {fp8 ? xt.values.get() : x.get(), fp8 ? dt.values.get() : dy.get(),
               block ? xt.scales.get() : one, block ? dt.scales.get() : one, g.get()});
      }
    }
  }
}

}  // namespace

int main(int count, char** arguments) {
  Bench bench;
  ok(cublasLtCreate(&bench.handle), "handle");
  cudaStreamCreate(&bench.stream);
  std::printf("cublasLt %zu\n", cublasLtGetVersion());
  accuracy(bench);
  for (int i = 1; i < count; ++i) products(bench, std::atoll(arguments[i]));
  const cudaError_t last = cudaDeviceSynchronize();
  std::printf("end: %s\n", cudaGetErrorString(last));
}
