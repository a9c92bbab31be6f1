// Which cores of this machine share something, and what AdamW runs at on which of them.
#include <sched.h>
#include <x86intrin.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <barrier>
#include <chrono>
#include <cstdio>
#include <map>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "engine/adamw.hpp"
#include "engine/thread_pool.hpp"
#include "profiler/probe/aligned_memory.hpp"
using namespace sluice;
using namespace sluice::profiler;

static double now() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}
static void pin(int core) {
  cpu_set_t one;
  CPU_ZERO(&one);
  CPU_SET(core, &one);
  sched_setaffinity(0, sizeof one, &one);
}
static void pin_to(const std::vector<int>& cores) {
  cpu_set_t set;
  CPU_ZERO(&set);
  for (int c : cores) CPU_SET(c, &set);
  sched_setaffinity(0, sizeof set, &set);
}
static int cores_n;

// Multiply-adds in registers for `seconds`; how many a second.
static double spin(double seconds) {
  __m256 a[8];
  for (auto& x : a) x = _mm256_set1_ps(1.0F);
  const __m256 b = _mm256_set1_ps(0.999F), c = _mm256_set1_ps(0.001F);
  const double s = now();
  long n = 0;
  double t;
  do {
    for (int i = 0; i < 2000; ++i)
      for (auto& x : a) x = _mm256_fmadd_ps(x, b, c);
    n += 2000;
    t = now() - s;
  } while (t < seconds);
  volatile float sink = 0;
  for (auto& x : a) sink = sink + _mm256_cvtss_f32(x);
  return n / t;
}

static double pair_rate(int i, int j) {
  std::atomic<int> ready{0};
  double rate[2];
  auto body = [&](int me, int core) {
    pin(core);
    ready.fetch_add(1);
    while (ready.load() < 2) {
    }
    rate[me] = spin(0.008);
  };
  std::thread other([&] { body(1, j); });
  body(0, i);
  other.join();
  return std::min(rate[0], rate[1]);
}

// Nanoseconds for a cache line there and back.
static double ping(int i, int j) {
  alignas(64) std::atomic<int> turn{0};
  constexpr int kTurns = 4000;
  std::thread other([&] {
    pin(j);
    for (int k = 0; k < kTurns; ++k) {
      while (turn.load(std::memory_order_acquire) != 2 * k + 1) _mm_pause();
      turn.store(2 * k + 2, std::memory_order_release);
    }
  });
  pin(i);
  double s = now();
  for (int k = 0; k < kTurns; ++k) {
    if (k == 400) s = now();
    turn.store(2 * k + 1, std::memory_order_release);
    while (turn.load(std::memory_order_acquire) != 2 * k + 2) _mm_pause();
  }
  const double t = now() - s;
  other.join();
  return t / (kTurns - 400) * 1e9;
}

using Matrix = std::vector<std::vector<double>>;
static Matrix matrix(const char* name, double (*f)(int, int), bool print) {
  Matrix m(cores_n, std::vector<double>(cores_n, 0));
  for (int i = 0; i < cores_n; ++i)
    for (int j = i + 1; j < cores_n; ++j) m[i][j] = m[j][i] = f(i, j);
  if (print) {
    std::printf("%s\n", name);
    for (int i = 0; i < cores_n; ++i) {
      for (int j = 0; j < cores_n; ++j) std::printf(" %7.3g", m[i][j]);
      std::printf("\n");
    }
  }
  return m;
}

struct State {
  std::int64_t n;
  ProbeMemory* supply;
  AlignedMemory high, low, m, v, g;
  State(std::int64_t n_, ProbeMemory* s)
      : n(n_),
        supply(s),
        high(Bytes(2 * n), s),
        low(Bytes(2 * n), s),
        m(Bytes(4 * n), s),
        v(Bytes(4 * n), s),
        g(Bytes(4 * n), s) {
    for (std::int64_t i = 0; i < n; ++i) {
      high.as<std::uint16_t>()[i] = 0x3C00U | (mixed(i) & 0x80FFU);
      low.as<std::uint16_t>()[i] = mixed(i) >> 16;
      g.as<float>()[i] = (float((mixed(i) >> 32) & 0xFFFF) - 32767.5F) * 1e-7F;
      m.as<float>()[i] = 0.1F * g.as<float>()[i];
      v.as<float>()[i] = 1e-6F;
    }
  }
  void update(engine::ThreadPool& pool, int threads) {
    const engine::AdamWOperands o{high.as<std::uint16_t>().data(), low.as<std::uint16_t>().data(),
                                  m.as<float>().data(), v.as<float>().data(), g.as<float>().data()};
    const engine::AdamWSpan span{0, n, true};
    engine::adamw_update(o, std::span(&span, 1), engine::adamw_step({}, 1e-6, 10, 1.0F), pool,
                         threads);
  }
};

static std::vector<int> where(engine::ThreadPool& pool, const std::vector<int>* pins) {
  std::vector<int> at(pool.threads());
  std::barrier meet(pool.threads());
  auto tile = [&](std::int64_t i) {
    if (pins) pin((*pins)[i]);
    at[i] = sched_getcpu();
    meet.arrive_and_wait();
  };
  pool.run(pool.threads(), pool.threads(), tile);
  std::sort(at.begin(), at.end());
  return at;
}

int main() {
  cores_n = std::thread::hardware_concurrency();
  std::vector<int> all;
  for (int i = 0; i < cores_n; ++i) all.push_back(i);
  const double begin = now();
  double alone = 0;
  std::printf("alone:");
  for (int i = 0; i < cores_n; ++i) {
    pin(i);
    const double r = spin(0.02);
    alone = std::max(alone, r);
    std::printf(" %.3g", r);
  }
  std::printf("\n");
  Matrix both(cores_n, std::vector<double>(cores_n, 0));
  for (int k = 0; k < 3; ++k) {
    auto m = matrix("", pair_rate, false);
    for (int i = 0; i < cores_n; ++i)
      for (int j = 0; j < cores_n; ++j) both[i][j] = std::max(both[i][j], m[i][j] / alone);
  }
  std::printf("slower of two at once over alone, best of 3\n");
  for (auto& row : both) {
    for (double x : row) std::printf(" %.2f", x);
    std::printf("\n");
  }
  matrix("cache line there and back, ns", ping, true);
  // Partner of each: the one beside which it is slowest.
  std::vector<int> partner(cores_n);
  std::printf("partners:");
  for (int i = 0; i < cores_n; ++i) {
    int best = i ? 0 : 1;
    for (int j = 0; j < cores_n; ++j)
      if (j != i && both[i][j] < both[i][best]) best = j;
    partner[i] = best;
    std::printf(" %d-%d(%.2f)", i, best, both[i][best]);
  }
  std::printf("\n%.1f s\n", now() - begin);
  std::fflush(stdout);
  // First of each pair, then the others.
  std::vector<int> firsts, seconds;
  std::vector<bool> taken(cores_n, false);
  for (int i = 0; i < cores_n; ++i) {
    if (taken[i]) continue;
    firsts.push_back(i);
    taken[i] = true;
    if (!taken[partner[i]]) {
      seconds.push_back(partner[i]);
      taken[partner[i]] = true;
    }
  }
  std::vector<int> apart = firsts;
  apart.insert(apart.end(), seconds.begin(), seconds.end());
  std::vector<int> together;
  for (std::size_t k = 0; k < std::max(firsts.size(), seconds.size()); ++k) {
    if (k < firsts.size()) together.push_back(firsts[k]);
    if (k < seconds.size()) together.push_back(seconds[k]);
  }
  std::vector<int> even;
  for (int i = 0; i < cores_n; i += 2) even.push_back(i);
  for (int i = 1; i < cores_n; i += 2) even.push_back(i);

  pin_to(all);
  ProbeMemory memory(Bytes(6ll << 30),
                     Bytes((std::getenv("POOL") ? std::atoll(std::getenv("POOL")) : 100) << 30));
  State state(128ll << 20, &memory);
  std::printf("memory ready %.1f s\n", now() - begin);
  auto once = [&](const char* name, int threads, const std::vector<int>* order, double seconds_) {
    pin_to(all);
    engine::ThreadPool pool(threads);
    std::vector<int> pins;
    if (order) pins.assign(order->begin(), order->begin() + threads);
    auto before = where(pool, order ? &pins : nullptr);
    double s = now();
    int n = 0;
    std::vector<double> parts;
    while (now() - s < seconds_) {
      const double a = now();
      state.update(pool, threads);
      parts.push_back(double(state.n) / (now() - a) / 1e9);
      ++n;
    }
    const double rate = n * double(state.n) / (now() - s) / 1e9;
    auto after = where(pool, nullptr);
    std::sort(parts.begin(), parts.end());
    std::printf("t%d %s %.2f (%.2f to %.2f), at", threads, name, rate, parts.front(), parts.back());
    for (int c : after) std::printf(" %d", c);
    std::printf("\n");
    std::fflush(stdout);
    pin_to(all);
  };
  for (int round = 0; round < 5; ++round) {
    once("free", 8, nullptr, 0.5);
    once("apart", 8, &apart, 0.5);
    once("together", 8, &together, 0.5);
    once("first", 8, &all, 0.5);
    once("even", 8, &even, 0.5);
  }
  for (int threads : {2, 4, 6, 10, 12, 14, 16})
    for (int round = 0; round < 3; ++round) {
      once("free", threads, nullptr, 0.4);
      once("apart", threads, &apart, 0.4);
      once("together", threads, &together, 0.4);
    }
  std::printf("%.1f s\n", now() - begin);
  for (int round = 0; round < 8; ++round) {
    once("free", 8, nullptr, 1.0);
    once("apart", 8, &apart, 1.0);
  }
  // The partners once more, half a minute later.
  Matrix again = matrix("", pair_rate, false);
  std::printf("slower of two at once over alone, once more\n");
  for (auto& row : again) {
    for (double x : row) std::printf(" %.2f", x / alone);
    std::printf("\n");
  }
  std::printf("%.1f s\n", now() - begin);
}
