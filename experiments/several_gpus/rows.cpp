#include "rows.hpp"

#include <cstdio>
#include <cstdlib>

namespace sluice::several_gpus {
namespace {

std::string number(double value) {
  char text[32];
  std::snprintf(text, sizeof text, "%.4g", value);
  return text;
}

}  // namespace

std::string names_of(unsigned loads) {
  static constexpr const char* kNames[kLoads] = {"h2d", "d2h", "adamw", "gemm"};
  std::string names;
  for (int load = 0; load < kLoads; ++load) {
    if ((loads & (1u << load)) != 0)
      names += (names.empty() ? "" : "+") + std::string(kNames[load]);
  }
  return names.empty() ? "nothing" : names;
}

// Columns: part, launch, gpus, operation, way, bytes, beside, seconds, GB/s a GPU, GB/s of all
// GPUs, then the loads' rates over the host (H2D GB/s, D2H GB/s, AdamW Gparam/s, GEMM TFLOP/s),
// note.
void print(const Row& row) {
  if (row.rank->id != 0) return;
  const char* launched = std::getenv("LAUNCHED");
  if (launched == nullptr) launched = row.rank->process ? "processes" : "threads";
  std::string line = row.part + ',' + launched + ',' + std::to_string(row.rank->of) + ',' +
                     row.operation + ',' + row.way + ',' +
                     (row.bytes > 0 ? std::to_string(row.bytes) : "") + ',' + row.beside + ',';
  if (row.seconds) line += number(*row.seconds);
  line += ',';
  if (row.seconds && row.gpu_bytes) {
    const double rate = *row.gpu_bytes / *row.seconds / 1e9;
    line += number(rate) + ',' + number(rate * row.rank->of);
  } else {
    line += ',';
  }
  for (int load = 0; load < kLoads; ++load) {
    const double scale = load == static_cast<int>(Load::gemm) ? 1e-3 : 1.0;
    line += ',' + (row.rates[load] > 0 ? number(row.rates[load] * scale) : "");
  }
  line += ',' + row.note + '\n';
  std::fputs(line.c_str(), stdout);
  std::fflush(stdout);
  if (const char* name = std::getenv("ROWS")) {
    if (std::FILE* file = std::fopen(name, "a")) {
      std::fputs(line.c_str(), file);
      std::fclose(file);
    }
  }
}

}  // namespace sluice::several_gpus
