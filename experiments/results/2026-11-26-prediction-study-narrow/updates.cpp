#include <chrono>
#include <cstdio>
#include <thread>

#include "profiler/probe/memory_bench.hpp"
using namespace sluice;
using namespace sluice::profiler;
static double now() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}
int main() {
  ProbeMemory memory(Bytes(6ll << 30), Bytes(109ll << 30));
  UpdateBench b(128ll << 20, 16, &memory);
  auto on = [&](const char* name, int t, double seconds, double window) {
    double end = now() + seconds;
    std::printf("%s t%d:", name, t);
    while (now() < end) {
      double s = now();
      int n = 0;
      while (now() - s < window) {
        b.update(t);
        ++n;
      }
      std::printf(" %.2f", n * double(128 << 20) / (now() - s) / 1e9);
    }
    std::printf("\n");
    std::fflush(stdout);
  };
  auto rest = [&](double s) { std::this_thread::sleep_for(std::chrono::duration<double>(s)); };
  auto duty = [&](int t, int times, double work, double idle) {
    std::printf("duty %.1f/%.1f t%d:", work, idle, t);
    for (int i = 0; i < times; i++) {
      double s = now();
      int n = 0;
      while (now() - s < work) {
        b.update(t);
        ++n;
      }
      std::printf(" %.2f", n * double(128 << 20) / (now() - s) / 1e9);
      rest(idle);
    }
    std::printf("\n");
    std::fflush(stdout);
  };
  on("cold", 14, 2, .2);
  duty(14, 10, .3, .7);
  on("long", 14, 30, 1);
  rest(15);
  on("rested", 14, 8, .5);
  duty(14, 12, .3, .7);
  on("few", 4, 6, .5);
  rest(8);
  duty(4, 10, .3, .7);
  on("few", 4, 10, 1);
  on("all", 16, 5, .5);
  on("long", 14, 10, 1);
}
