// How close the optimizer on the processor comes to the speed of its memory.
//
//   adamw_bench [--sweep] [MILLIONS_OF_PARAMETERS [THREADS...]]
//
// 500 million parameters (8 GB with gradients) and 2, 4, 8, 12, 14, 16 and all threads unless said.
// Measures, in turn and repeatedly, reading (4 bytes an element), the triad (12) and each path of
// the update (28 a parameter: state read and written, gradient read), and prints medians. With
// fewer threads, fewer parameters. --sweep measures other stores, prefetch distances and blocks
// too.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <string>
#include <thread>
#include <vector>

#include "engine/optimizer/adamw.hpp"
#include "engine/optimizer/instruction_set.hpp"
#include "engine/optimizer/master_weights.hpp"
#include "experiments/cpu_optimizer/adamw_variants.hpp"
#include "experiments/cpu_optimizer/dram_bench.hpp"

namespace sluice::engine::bench {
namespace {

using Clock = std::chrono::steady_clock;
constexpr int kRepetitions = 5;
constexpr std::int64_t kUnit = 16 * kUpdateBlock;  ///< Parameters are a multiple of it.

/// The same value for the same counter: SplitMix64's mixing function.
std::uint64_t mixed(std::uint64_t x) {
  x += 0x9e3779b97f4a7c15u;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
  return x ^ (x >> 31);
}

/// Close to normal, deviation 1, never 0: four uniform numbers of 16 bits added.
float normal(std::uint64_t counter) {
  const std::uint64_t bits = mixed(counter);
  const auto total = static_cast<std::int64_t>((bits & 0xffffu) + ((bits >> 16) & 0xffffu) +
                                               ((bits >> 32) & 0xffffu) + (bits >> 48));
  return (static_cast<float>(total - 2 * 65535) + 0.25f) / 37837.0f;
}

struct State {
  explicit State(std::int64_t n, ThreadPool& pool)
      : n(n), high_(2 * n), low_(2 * n), m_(4 * n), v_(4 * n), gradient_(4 * n) {
    const AdamWOperands to = operands();
    auto fill = [&](std::int64_t block) {
      for (std::int64_t i = block * kUpdateBlock; i < (block + 1) * kUpdateBlock; ++i) {
        const auto counter = static_cast<std::uint64_t>(4 * i);
        const SplitMaster halves = split_master(0.02f * normal(counter));
        to.high[i] = halves.high;
        to.low[i] = halves.low;
        to.m[i] = 1e-3f * normal(counter + 1);
        const float deviation = 1e-3f * normal(counter + 2);
        to.v[i] = deviation * deviation;
        gradient()[i] = 1e-3f * normal(counter + 3);
      }
    };
    pool.run(n / kUpdateBlock, pool.threads(), fill);
  }
  [[nodiscard]] AdamWOperands operands() const {
    return {reinterpret_cast<std::uint16_t*>(high_.data()),
            reinterpret_cast<std::uint16_t*>(low_.data()), reinterpret_cast<float*>(m_.data()),
            reinterpret_cast<float*>(v_.data()), gradient_.data()};
  }
  [[nodiscard]] float* gradient() const { return reinterpret_cast<float*>(gradient_.data()); }
  std::int64_t n;

 private:
  HugeMemory high_, low_, m_, v_, gradient_;
};

/// One thing measured: what it moves and the seconds it took, time after time.
struct Load {
  std::string name;
  double bytes;
  std::function<void()> run;
  std::vector<double> seconds;
  [[nodiscard]] double median() const {
    std::vector<double> sorted = seconds;
    std::sort(sorted.begin(), sorted.end());
    return sorted[sorted.size() / 2];
  }
  [[nodiscard]] double rate() const { return bytes / median() / 1e9; }  ///< GB/s
};

/// Runs all in turn, `repetitions` times after one that is not counted.
void measure(std::vector<Load>& loads, int repetitions) {
  for (int i = 0; i <= repetitions; ++i) {
    for (Load& load : loads) {
      const auto start = Clock::now();
      load.run();
      const std::chrono::duration<double> took = Clock::now() - start;
      if (i > 0) load.seconds.push_back(took.count());
    }
  }
}

AdamWStep step_constants() { return adamw_step({}, 1e-6, 10, 1.0f); }

/// The update of n parameters by any path in any blocks, shared out as adamw_update does.
void update_all(const AdamWOperands& operands, std::int64_t n, std::int64_t block,
                decltype(AdamWPath::update) update, ThreadPool& pool, int threads) {
  const AdamWStep step = step_constants();
  auto tile = [&](std::int64_t i) {
    update(operands, i * block, std::min(n, (i + 1) * block), true, step);
  };
  pool.run((n + block - 1) / block, threads, tile);
}

/// Parameters for `threads` of `all`: enough to leave the caches, few enough not to take long.
std::int64_t share(std::int64_t n, int threads, int all) {
  const std::int64_t part = n * std::max(threads, all / 8) / all;
  return std::min(n, std::max(part / kUnit, std::int64_t{1}) * kUnit);
}

void by_threads(const State& state, ThreadPool& pool, const std::vector<int>& counts) {
  std::printf("%7s %10s %10s | %-15s %8s %6s %10s %9s\n", "threads", "read GB/s", "triad GB/s",
              "path", "Gparam/s", "GB/s", "Adam/triad", "Adam/read");
  for (const int threads : counts) {
    const std::int64_t n = share(state.n, threads, counts.back());
    const AdamWOperands operands = state.operands();
    const auto size = static_cast<std::size_t>(n);
    std::vector<Load> loads;
    loads.push_back({"read",
                     4.0 * static_cast<double>(n),
                     [&] {
                       const float total = sum({operands.v, size}, pool, threads);
                       if (total < 0) std::printf("the sum of squares is negative\n");
                     },
                     {}});
    // m becomes m', which is as normal as m was.
    loads.push_back({"triad",
                     12.0 * static_cast<double>(n),
                     [&] {
                       triad({operands.m, size}, state.gradient(), operands.v, 0.5f, pool, threads);
                     },
                     {}});
    for (const AdamWPath& path : adamw_paths()) {
      if (!path.supported) continue;
      // Without fused multiply-adds in hardware each is a call: a part is enough to tell.
      const std::int64_t some =
          path.name == "portable" ? std::max(n / 64 / kUnit, std::int64_t{1}) * kUnit : n;
      loads.push_back({std::string(path.name),
                       28.0 * static_cast<double>(some),
                       [&, some, update = path.update] {
                         update_all(operands, some, kUpdateBlock, update, pool, threads);
                       },
                       {}});
    }
    measure(loads, kRepetitions);
    for (std::size_t i = 2; i < loads.size(); ++i) {
      std::printf("%7d %10.1f %10.1f | %-15s %8.3f %6.1f %10.3f %9.3f\n", threads, loads[0].rate(),
                  loads[1].rate(), loads[i].name.c_str(), loads[i].rate() / 28, loads[i].rate(),
                  loads[i].rate() / loads[1].rate(), loads[i].rate() / loads[0].rate());
    }
    std::fflush(stdout);
  }
}

void sweep(const State& state, ThreadPool& pool, int threads) {
  const std::int64_t n = state.n;
  const AdamWOperands operands = state.operands();
  const double bytes = 28.0 * static_cast<double>(n);
  std::vector<Load> loads;
  const auto add = [&](const std::string& name, std::int64_t block, auto update) {
    loads.push_back({name,
                     bytes,
                     [&, block, update] { update_all(operands, n, block, update, pool, threads); },
                     {}});
  };
  for (const AdamWVariant& variant : adamw_variants())
    add(std::string(variant.name), kUpdateBlock, variant.update);
  const auto engine = adamw_paths().front().update;
  for (const std::int64_t block : {4096, 16384, 65536, 262144, 1048576}) {
    add("engine, blocks of " + std::to_string(block), block, engine);
  }
  add("engine, one range a thread", (n / threads + 31) / 32 * 32, engine);
  measure(loads, 3);
  std::printf("\n%d threads, by variant:\n", threads);
  for (const Load& load : loads) {
    std::printf("  %-32s %8.3f Gparam/s %8.1f GB/s\n", load.name.c_str(), load.rate() / 28,
                load.rate());
  }
}

/// A call with nothing to do, its workers asleep: microseconds.
void waking(ThreadPool& pool, int threads) {
  Load call{"", 0, {}, {}};
  auto nothing = [](std::int64_t) {};
  for (int i = 0; i < 51; ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
    const auto start = Clock::now();
    pool.run(threads, threads, nothing);
    call.seconds.push_back(std::chrono::duration<double>(Clock::now() - start).count());
  }
  std::printf("\nan empty call on %d sleeping threads: %.1f us\n", threads, call.median() * 1e6);
}

/// Rows whose tokens have not come up for long: the gradient is 0 and m has decayed to denormals,
/// which some processors compute slowly. Leaves the state changed.
void denormals(const State& state, ThreadPool& pool, int threads) {
  const std::int64_t n = std::max(state.n / 16 / kUnit, std::int64_t{1}) * kUnit;
  const AdamWOperands operands = state.operands();
  const auto path = adamw_paths().front();
  const auto timed = [&] {
    std::vector<Load> loads;
    loads.push_back({"",
                     28.0 * static_cast<double>(n),
                     [&] { update_all(operands, n, kUpdateBlock, path.update, pool, threads); },
                     {}});
    measure(loads, kRepetitions);
    return loads[0].rate() / 28;
  };
  const double usual = timed();
  std::fill_n(operands.m, n, 1e-40f);
  std::fill_n(state.gradient(), n, 0.0f);
  const double denormal = timed();
  std::printf("m denormal and gradient 0 everywhere: %.3f Gparam/s, %.2f of the usual %.3f\n",
              denormal, denormal / usual, usual);
}

int run(std::int64_t millions, std::vector<int> counts, bool with_sweep) {
  const int all = static_cast<int>(std::max(std::thread::hardware_concurrency(), 1u));
  if (counts.empty()) {
    for (const int threads : {2, 4, 8, 12, 14, 16}) {
      if (threads < all) counts.push_back(threads);
    }
    counts.push_back(all);
  }
  std::sort(counts.begin(), counts.end());
  ThreadPool pool(counts.back());
  const State state(std::max(millions * 1000000 / kUnit, std::int64_t{1}) * kUnit, pool);
  std::printf("%s, %d hardware threads; %.1f M parameters, %.1f GB; in huge pages: %s\n",
              processor().c_str(), all, static_cast<double>(state.n) / 1e6,
              static_cast<double>(state.n) * 16e-9, huge_pages().c_str());
  by_threads(state, pool, counts);
  if (with_sweep && adamw_paths().front().supported) sweep(state, pool, counts.back());
  waking(pool, counts.back());
  denormals(state, pool, counts.back());
  return 0;
}

int usage() {
  std::fprintf(stderr, "usage: adamw_bench [--sweep] [MILLIONS_OF_PARAMETERS [THREADS...]]\n");
  return 2;
}

}  // namespace
}  // namespace sluice::engine::bench

int main(int argc, char** argv) {
  using namespace sluice::engine;
  bool with_sweep = false;
  std::vector<std::int64_t> numbers;
  for (int i = 1; i < argc; ++i) {
    if (std::strcmp(argv[i], "--sweep") == 0) {
      with_sweep = true;
      continue;
    }
    char* end = nullptr;
    numbers.push_back(std::strtol(argv[i], &end, 10));
    if (*end != '\0' || numbers.back() < 1) return bench::usage();
  }
  if (!has_avx2()) {
    std::fprintf(stderr, "adamw_bench needs a processor with AVX2 and FMA\n");
    return 4;
  }
  const std::int64_t millions = numbers.empty() ? 500 : numbers[0];
  std::vector<int> threads;
  for (std::size_t i = 1; i < numbers.size(); ++i) threads.push_back(static_cast<int>(numbers[i]));
  return bench::run(millions, threads, with_sweep);
}
