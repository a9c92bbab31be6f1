// chunks GIB ROUNDS THREADS: is memory of one host equally quick everywhere, and at all times?
#include <sched.h>
#include <sys/mman.h>

#include <atomic>
#include <barrier>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <numeric>
#include <random>
#include <thread>
#include <vector>
using Clock = std::chrono::steady_clock;
static double now() {
  return std::chrono::duration<double>(Clock::now().time_since_epoch()).count();
}
int main(int, char** v) {
  const size_t chunk = 1ull << 30, count = atoi(v[1]);
  const int rounds = atoi(v[2]), threads = atoi(v[3]);
  std::vector<float*> at;
  double t0 = now();
  for (size_t i = 0; i < count; ++i) {
    auto* p =
        (float*)mmap(nullptr, chunk, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    madvise(p, chunk, MADV_HUGEPAGE);
    at.push_back(p);
  }
  auto all = [&](auto&& f) {
    std::vector<std::thread> ts;
    for (int t = 0; t < threads; ++t) ts.emplace_back(f, t);
    for (auto& t : ts) t.join();
  };
  all([&](int t) {
    for (size_t c = t; c < count; c += threads)
      for (size_t i = 0; i < chunk / 4; i += 1024) at[c][i] = 1;
  });
  printf("touched %zu GiB in %.1f s\n", count, now() - t0);
  // latency: pointer chase of 20000 steps in each 8th chunk from first and last cpu
  for (int cpu : {0, 5, 10, (int)std::thread::hardware_concurrency() - 1}) {
    cpu_set_t s;
    CPU_ZERO(&s);
    CPU_SET(cpu, &s);
    sched_setaffinity(0, sizeof s, &s);
    printf("latency cpu %d:", cpu);
    for (size_t c = 0; c < count; c += 4) {
      auto* p = (char*)at[c];
      unsigned long long x = 88172645463325252ull + c;
      double b = now();
      volatile char sink = 0;
      size_t pos = 0;
      for (int i = 0; i < 60000; ++i) {
        x ^= x << 13;
        x ^= x >> 7;
        x ^= x << 17;
        pos = ((x + (unsigned char)p[pos]) & (chunk - 1)) & ~63ull;
        sink = p[pos];
      }
      printf(" %.0f", (now() - b) / 60000 * 1e9);
    }
    printf("\n");
  }
  cpu_set_t s;
  CPU_ZERO(&s);
  for (unsigned c = 0; c < std::thread::hardware_concurrency(); ++c) CPU_SET(c, &s);
  sched_setaffinity(0, sizeof s, &s);
  std::barrier sync(threads);
  std::vector<std::vector<double>> bw(rounds, std::vector<double>(count));
  std::vector<double> stamp(rounds);
  all([&](int t) {
    for (int r = 0; r < rounds; ++r) {
      if (!t) stamp[r] = now() - t0;
      for (size_t c = 0; c < count; ++c) {
        sync.arrive_and_wait();
        double b = now();
        const size_t n = chunk / 4 / threads;
        float* p = at[c] + n * t;
        for (size_t i = 0; i < n; ++i) p[i] = p[i] * 0.999f + 1e-3f;
        sync.arrive_and_wait();
        if (!t) bw[r][c] = 2.0 * n * threads * 4 / (now() - b) / 1e9;
      }
    }
  });
  for (int r = 0; r < rounds; ++r) {
    double m = 0;
    for (double x : bw[r]) m += 1 / x;
    printf("round %2d at %.1f s: %.0f GB/s |", r, stamp[r], count / m);
    for (size_t c = 0; c < count; ++c) printf(" %.0f", bw[r][c]);
    printf("\n");
  }
  // variance: between chunks (means over rounds) and within
  double grand = 0;
  std::vector<double> mean(count);
  for (size_t c = 0; c < count; ++c) {
    for (auto& r : bw) mean[c] += r[c] / rounds;
    grand += mean[c] / count;
  }
  double between = 0, within = 0;
  for (size_t c = 0; c < count; ++c) {
    between += (mean[c] - grand) * (mean[c] - grand) / count;
    for (auto& r : bw) within += (r[c] - mean[c]) * (r[c] - mean[c]) / count / rounds;
  }
  double rr = 0;
  for (auto& r : bw) {
    double m = 0;
    for (double x : r) m += x / count;
    rr += (m - grand) * (m - grand) / rounds;
  }
  printf(
      "mean %.0f GB/s, deviation between chunks %.1f %%, within %.1f %%, between rounds %.1f %%\n",
      grand, 100 * std::sqrt(between) / grand, 100 * std::sqrt(within) / grand,
      100 * std::sqrt(rr) / grand);
}
