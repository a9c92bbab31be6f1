// Products of mixtures of experts in TFLOP/s: our kernels over rows that a router dealt out, beside
// the library's tuned products of the same FLOPs, of all rows as one product and of as many rows as
// an expert has on average.
//   experts_cuda_bench                      Qwen3-30B-A3B and Mixtral-8x7B, 4096 and 16384 tokens
//   experts_cuda_bench [MODEL TOKENS]...
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <string>

#include "engine/cuda/backend/cuda_device.hpp"
#include "engine/cuda/kernels/expert_product.hpp"
#include "engine/cuda/kernels/routes.hpp"
#include "engine/cuda/products/gemm_race.hpp"
#include "experiments/cuda_kernels/cuda_bench.hpp"
#include "planner/catalogue/catalogue.hpp"
#include "planner/scratch/cuda_workspace.hpp"
#include "sim/error.hpp"

namespace {

using namespace sluice;
using namespace sluice::engine;
using bench::DeviceMemory;

constexpr int kRepeats = 20;

template <class T>
T* as(const DeviceMemory& memory) {
  return static_cast<T*>(memory.get());
}

/// Routes of random logits, as `route` leaves them.
class Routes {
 public:
  Routes(const cuda::RouteShape& shape, cudaStream_t stream) : shape_(shape) {
    const auto words = [](std::int64_t count) { return bench::allocate(Bytes(4 * count)); };
    const std::int64_t tiles = planner::route_tiles(rows(), shape.experts);
    expert_ = words(rows()), row_ = words(rows()), token_ = words(rows());
    share_ = words(rows()), d_share_ = words(rows()), begin_ = words(shape.experts + 1);
    tiles_ = words(2 * tiles), counts_ = words(planner::kRouteChunks * shape.experts);
    const DeviceMemory logits =
        bench::repeated(bench::normal_values(), shape.tokens * shape.experts);
    cuda::route(stream, as<float>(logits), shape,
                {.expert = as<std::int32_t>(expert_),
                 .row = as<std::int32_t>(row_),
                 .token = as<std::int32_t>(token_),
                 .share = as<float>(share_),
                 .d_share = as<float>(d_share_),
                 .begin = as<std::int32_t>(begin_),
                 .tiles = as<std::int32_t>(tiles_),
                 .counts = as<std::int32_t>(counts_)});
    check_cuda(cudaStreamSynchronize(stream), "routes");
  }
  [[nodiscard]] std::int64_t rows() const { return shape_.tokens * shape_.active; }
  [[nodiscard]] const std::int32_t* token() const { return as<std::int32_t>(token_); }
  [[nodiscard]] cuda::RowGroups groups() const {
    return {.begin = as<std::int32_t>(begin_),
            .tiles = as<std::int32_t>(tiles_),
            .groups = shape_.experts,
            .rows = rows()};
  }

 private:
  cuda::RouteShape shape_;
  DeviceMemory expert_, row_, token_, share_, d_share_, begin_, tiles_, counts_;
};

/// y = x W' of every expert. `gathered`: x lies by token.
struct Product {
  const char* name;
  std::int64_t in, out;
  bool gathered;
};

Seconds time_of_experts(cudaStream_t stream, const Routes& routes, const Product& product,
                        GemmProduct direction) {
  const std::int64_t in = product.in, out = product.out, rows = routes.rows();
  const cuda::RowGroups groups = routes.groups();
  const std::int64_t matrices = groups.groups * in * out;
  const DeviceMemory x = bench::random_bf16(rows * in), y = bench::random_bf16(rows * out);
  const std::int32_t* by_token = routes.token();
  const cuda::IndexedRows from{as<std::uint16_t>(x), product.gathered ? by_token : nullptr, in};
  const cuda::IndexedRows to{as<std::uint16_t>(y), product.gathered ? nullptr : by_token, out};
  if (direction == GemmProduct::weight_gradient) {
    const DeviceMemory gradient = bench::allocate(Bytes(4 * matrices));
    check_cuda(cudaMemsetAsync(gradient.get(), 0, static_cast<std::size_t>(4 * matrices), stream),
               "zeros");
    return bench::time_of(stream, kRepeats,
                          [&] {
                            cuda::accumulate_rows(stream, to, from, groups,
                                                  {as<float>(gradient), in * out}, in, out,
                                                  cuda::Into::accumulate);
                          })
        .device;
  }
  const DeviceMemory weights = bench::random_bf16(matrices);
  const cuda::GroupMatrices<const std::uint16_t> each{as<std::uint16_t>(weights), in * out};
  const auto run = [&] {
    if (direction == GemmProduct::forward) {
      cuda::multiply_rows(stream, from, groups, each, in, out, as<std::uint16_t>(y));
    } else {
      cuda::multiply_rows_transposed(stream, to, groups, each, in, out, as<std::uint16_t>(x));
    }
  };
  return bench::time_of(stream, kRepeats, run).device;
}

double teraflops(Flops work, Seconds time) { return work.count() / time.count() / 1e12; }

void measure(const std::string& model, std::int64_t tokens, cudaStream_t stream) {
  const planner::ModelShape shape = planner::find_model(model);
  const planner::Experts& experts = *shape.experts;
  const Routes routes(
      {.tokens = tokens, .experts = experts.count, .active = experts.active, .normalized = true},
      stream);
  const std::int64_t each = routes.rows() / experts.count;
  std::printf("\n%s, %lld tokens, %lld experts of %lld rows on average\n%-28s %9s %9s %9s %9s\n",
              model.c_str(), static_cast<long long>(tokens), static_cast<long long>(experts.count),
              static_cast<long long>(each), "TFLOP/s", "ms", "ours", "all rows", "one's rows");
  const Product products[] = {{"gate, up", shape.hidden, 2 * experts.intermediate, true},
                              {"down", experts.intermediate, shape.hidden, false}};
  for (const GemmProduct direction :
       {GemmProduct::forward, GemmProduct::input_gradient, GemmProduct::weight_gradient}) {
    Seconds all{0};
    Flops work{0};
    for (const Product& product : products) {
      const Seconds ours = time_of_experts(stream, routes, product, direction);
      const bool adds = direction == GemmProduct::weight_gradient;
      const GemmKey whole{direction, routes.rows(), product.in, product.out, false, adds};
      const GemmKey part{direction, each, product.in, product.out, false, adds};
      const Seconds of_all = GemmRace({&whole, 1}).run(whole).time;
      const Seconds of_one = GemmRace({&part, 1}).run(part).time;
      std::printf("%-28s %9.3f %9.1f %9.1f %9.1f\n",
                  (std::string(to_string(direction)) + " " + product.name).c_str(),
                  1e3 * ours.count(), teraflops(whole.work(), ours),
                  teraflops(whole.work(), of_all), teraflops(part.work(), of_one));
      std::fflush(stdout);
      all += ours;
      work += whole.work();
    }
    std::printf("%-28s %9.3f %9.1f\n", (std::string(to_string(direction)) + ", both").c_str(),
                1e3 * all.count(), teraflops(work, all));
  }
}

}  // namespace

int main(int count, char** words) {
  try {
    require_usable_device();
    cudaStream_t stream = nullptr;
    check_cuda(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking), "a stream");
    for (int i = 1; i + 1 < count; i += 2) measure(words[i], std::atoll(words[i + 1]), stream);
    if (count > 1) return 0;
    for (const char* model : {"qwen3-30b-a3b", "mixtral-8x7b"}) {
      for (const std::int64_t tokens : {4096, 16384}) measure(model, tokens, stream);
    }
  } catch (const std::exception& error) {
    std::fprintf(stderr, "experts_cuda_bench: %s\n", error.what());
    return 4;
  }
}
