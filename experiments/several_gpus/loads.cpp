#include "loads.hpp"

#include <cublas_v2.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cmath>
#include <cstdio>
#include <cstring>
#include <exception>
#include <functional>
#include <memory>
#include <stdexcept>
#include <thread>

#include "check.hpp"
#include "kernels.hpp"

namespace sluice::several_gpus {
namespace {

constexpr std::size_t kHostBytes = std::size_t{512}
                                   << 20;  ///< Per direction; more than caches hold.
constexpr std::size_t kParameters = std::size_t{8} << 20;  ///< Per thread of AdamW.
constexpr std::size_t kUpdate = std::size_t{64}
                                << 10;  ///< Parameters between two looks at the board.
constexpr int kTokens = 4096, kInner = 4096, kOuter = 14336;

using Enqueue = std::function<void(cudaStream_t, std::uint64_t turn)>;

char* host_memory(std::size_t bytes) {
  void* at = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (at == MAP_FAILED) throw std::runtime_error("no host memory for the loads");
  madvise(at, bytes, MADV_HUGEPAGE);
  std::memset(at, 0, bytes);
  return static_cast<char*>(at);
}

void rest() { std::this_thread::sleep_for(std::chrono::microseconds(100)); }

/// Keeps two calls in flight while the load is wanted; `amount` is what one call counts for.
void pump(const Rank& rank, Load load, std::uint64_t amount, const Enqueue& enqueue,
          std::atomic<int>& warm) {
  cudaStream_t stream = nullptr;
  cudaEvent_t events[2];
  check(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking), "stream");
  for (cudaEvent_t& event : events) {
    check(cudaEventCreateWithFlags(&event, cudaEventDisableTiming | cudaEventBlockingSync),
          "event");
  }
  enqueue(stream, 0);
  check(cudaStreamSynchronize(stream), "warm up");
  warm.fetch_add(1);
  const auto active = [&] {
    return rank.board.wanted(load) && (load == Load::gemm || rank.id < rank.board.copying.load());
  };
  for (;;) {
    if (!active()) {
      rest();
      continue;
    }
    std::uint64_t turn = 0;
    for (; active(); ++turn) {
      if (turn >= 2) {
        check(cudaEventSynchronize(events[turn % 2]), "load");
        rank.board.count(load, rank.id, amount);
      }
      enqueue(stream, turn);
      check(cudaEventRecord(events[turn % 2], stream), "record");
    }
    check(cudaStreamSynchronize(stream), "load");
  }
}

void copy(const Rank& rank, Load load, std::size_t chunk, std::atomic<int>& warm) {
  char* host = host_memory(kHostBytes);
  check(cudaHostRegister(host, kHostBytes, cudaHostRegisterPortable | cudaHostRegisterMapped),
        "pin");
  void* device = nullptr;
  check(cudaMalloc(&device, 2 * chunk), "cudaMalloc");
  pump(
      rank, load, chunk,
      [=](cudaStream_t stream, std::uint64_t turn) {
        char* at = host + turn % (kHostBytes / chunk) * chunk;
        char* there = static_cast<char*>(device) + turn % 2 * chunk;
        if (load == Load::h2d) {
          check(cudaMemcpyAsync(there, at, chunk, cudaMemcpyHostToDevice, stream), "h2d");
        } else {
          check(cudaMemcpyAsync(at, there, chunk, cudaMemcpyDeviceToHost, stream), "d2h");
        }
      },
      warm);
}

void multiply(const Rank& rank, std::atomic<int>& warm) {
  constexpr std::size_t kA = std::size_t{kInner} * kOuter, kB = std::size_t{kInner} * kTokens,
                        kC = std::size_t{kOuter} * kTokens;
  char* memory = nullptr;
  check(cudaMalloc(reinterpret_cast<void**>(&memory), 2 * (kA + kB + kC)), "cudaMalloc");
  cublasHandle_t handle = nullptr;
  check(cublasCreate(&handle), "cublasCreate");
  pump(
      rank, Load::gemm, std::uint64_t{2} * kTokens * kInner * kOuter,
      [=, filled = false](cudaStream_t stream, std::uint64_t) mutable {
        if (!filled) {
          fill_random_bf16(memory, kA + kB, stream);
          check(cublasSetStream(handle, stream), "cublasSetStream");
          filled = true;
        }
        const float one = 1, zero = 0;
        check(cublasGemmEx(handle, CUBLAS_OP_T, CUBLAS_OP_N, kOuter, kTokens, kInner, &one, memory,
                           CUDA_R_16BF, kInner, memory + 2 * kA, CUDA_R_16BF, kInner, &zero,
                           memory + 2 * (kA + kB), CUDA_R_16BF, kOuter, CUBLAS_COMPUTE_32F,
                           CUBLAS_GEMM_DEFAULT),
              "cublasGemmEx");
      },
      warm);
}

/// Reads and writes p, m and v and reads g: 28 bytes a parameter.
void adamw(float* __restrict p, float* __restrict m, float* __restrict v, const float* __restrict g,
           std::size_t count) {
  for (std::size_t i = 0; i < count; ++i) {
    m[i] = 0.9f * m[i] + 0.1f * g[i];
    v[i] = 0.95f * v[i] + 0.05f * g[i] * g[i];
    p[i] = 0.99999f * p[i] - 1e-4f * m[i] / (std::sqrt(v[i]) * 1.01f + 1e-8f);
  }
}

void update(const Rank& rank, int thread, std::atomic<int>& warm) {
  auto* p = reinterpret_cast<float*>(host_memory(16 * kParameters));
  float *m = p + kParameters, *v = m + kParameters, *g = v + kParameters;
  for (std::size_t i = 0; i < kParameters; ++i) g[i] = 1e-3f;
  warm.fetch_add(1);
  for (std::size_t at = 0;; at = (at + kUpdate) % kParameters) {
    while (!rank.board.wanted(Load::adamw) || thread >= rank.board.updating.load()) rest();
    adamw(p + at, m + at, v + at, g + at, kUpdate);
    rank.board.count(Load::adamw, rank.id, kUpdate);
  }
}

}  // namespace

void start_load_threads(const Rank& rank, const LoadOptions& options) {
  auto warm = std::make_shared<std::atomic<int>>(0);
  int started = 0;
  const auto start = [&](auto body) {
    ++started;
    std::thread([=] {
      try {
        check(cudaSetDevice(rank.id), "cudaSetDevice");
        body(rank, *warm);
      } catch (const std::exception& error) {
        std::fprintf(stderr, "several_gpus: a load of rank %d: %s\n", rank.id, error.what());
        _exit(1);
      }
    }).detach();
  };
  for (const Load load : {Load::h2d, Load::d2h}) {
    start([=](const Rank& on, std::atomic<int>& ready) { copy(on, load, options.chunk, ready); });
  }
  if (options.products) start([](const Rank& on, std::atomic<int>& ready) { multiply(on, ready); });
  for (int thread = 0; thread < options.threads; ++thread) {
    const int place = thread * rank.of + rank.id;
    start([=](const Rank& on, std::atomic<int>& ready) { update(on, place, ready); });
  }
  while (warm->load() < started) rest();
  rank.board.meet();
}

}  // namespace sluice::several_gpus
