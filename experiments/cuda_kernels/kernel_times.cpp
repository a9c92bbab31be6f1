// A library for CUDA_INJECTION64_PATH: sums the times of a program's kernels by name, and writes
// them at its end to $KERNEL_TIMES (standard error without it), the longest first.
//   CUPTI=$CUDA/extras/CUPTI
//   g++ -std=c++20 -O2 -shared -fPIC -I$CUDA/include -I$CUPTI/include kernel_times.cpp \
//     -L$CUDA/lib64 -L$CUPTI/lib64 -lcupti -o libkernel_times.so
//   CUDA_INJECTION64_PATH=$PWD/libkernel_times.so sluice train RUN --no-trace
// Kernels that start before the last $KERNEL_TIMES_LAST seconds of kernels (all without it) are
// left out, so that warm-up does not count.
#include <cupti.h>
#include <cxxabi.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <mutex>
#include <string>
#include <vector>

namespace {

struct Kernel {
  std::string name;
  std::uint64_t start, end;
};

std::mutex mutex;
std::vector<Kernel>* kernels = new std::vector<Kernel>;  // Lives until after all destructors.

void give_buffer(std::uint8_t** buffer, std::size_t* size, std::size_t* most_records) {
  constexpr std::size_t kSize = std::size_t{8} << 20;
  *buffer = static_cast<std::uint8_t*>(std::aligned_alloc(8, kSize));
  *size = kSize;
  *most_records = 0;
}

void take_buffer(CUcontext, std::uint32_t, std::uint8_t* buffer, std::size_t, std::size_t valid) {
  CUpti_Activity* record = nullptr;
  const std::lock_guard lock(mutex);
  while (cuptiActivityGetNextRecord(buffer, valid, &record) == CUPTI_SUCCESS) {
    if (record->kind != CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL) continue;
    const auto* kernel = reinterpret_cast<const CUpti_ActivityKernel9*>(record);
    kernels->push_back({kernel->name, kernel->start, kernel->end});
  }
  std::free(buffer);
}

/// A kernel's name without its parameters; template arguments stay.
std::string short_name(const std::string& mangled) {
  int status = 0;
  char* text = abi::__cxa_demangle(mangled.c_str(), nullptr, nullptr, &status);
  std::string name = status == 0 ? text : mangled;
  std::free(text);
  int depth = 0;
  for (std::size_t i = 0; i < name.size(); ++i) {
    if (name[i] == '<') ++depth;
    if (name[i] == '>') --depth;
    if (name[i] == '(' && depth == 0 && i > 0 && name.compare(i, 11, "(anonymous ") != 0) {
      name.resize(i);
      break;
    }
  }
  return name.substr(0, 150);
}

void write_all() {
  cuptiActivityFlushAll(1);
  const std::lock_guard lock(mutex);
  std::uint64_t last = 0;
  for (const Kernel& each : *kernels) last = std::max(last, each.end);
  const char* wanted = std::getenv("KERNEL_TIMES_LAST");
  const auto span = static_cast<std::uint64_t>(wanted ? std::atof(wanted) * 1e9 : 1e18);
  const std::uint64_t from = last > span ? last - span : 0;
  struct Sum {
    double seconds = 0;
    long count = 0;
  };
  std::map<std::string, Sum> sums;
  double all = 0;
  for (const Kernel& each : *kernels) {
    if (each.start < from) continue;
    Sum& sum = sums[short_name(each.name)];
    const double seconds = static_cast<double>(each.end - each.start) / 1e9;
    sum.seconds += seconds;
    ++sum.count;
    all += seconds;
  }
  std::vector<std::pair<std::string, Sum>> sorted(sums.begin(), sums.end());
  std::sort(sorted.begin(), sorted.end(),
            [](const auto& a, const auto& b) { return a.second.seconds > b.second.seconds; });
  const char* path = std::getenv("KERNEL_TIMES");
  std::FILE* file = path ? std::fopen(path, "w") : stderr;
  if (file == nullptr) return;
  std::fprintf(file, "seconds,share,count,microseconds_each,kernel\n");
  for (const auto& [name, sum] : sorted) {
    std::fprintf(file, "%.4f,%.4f,%ld,%.1f,\"%s\"\n", sum.seconds, sum.seconds / all, sum.count,
                 1e6 * sum.seconds / static_cast<double>(sum.count), name.c_str());
  }
  if (path) std::fclose(file);
}

}  // namespace

extern "C" int InitializeInjection() {
  cuptiActivityRegisterCallbacks(give_buffer, take_buffer);
  cuptiActivityEnable(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL);
  std::atexit(write_all);
  return 1;
}
