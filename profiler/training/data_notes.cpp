#include "profiler/training/data_notes.hpp"

#include <fmt/format.h>

namespace sluice::profiler {

using engine::DataSummary;

double learnt_share(const DataSummary& summary) {
  if (summary.used_places == 0) return 0;
  return static_cast<double>(summary.learnt_places) / static_cast<double>(summary.used_places);
}

std::string data_line(const engine::WindowedText& text, const DataSummary& summary) {
  return fmt::format("{}; {:.1f} % of the tokens are learnt", text.description(),
                     100 * learnt_share(summary));
}

std::vector<std::string> data_warnings(const DataSummary& summary) {
  std::vector<std::string> warnings;
  if (learnt_share(summary) < kFewLearnt) {
    warnings.push_back(
        fmt::format("data: only {:.2g} % of the tokens are learnt: see what with "
                    "sluice data",
                    100 * learnt_share(summary)));
  }
  if (summary.nothing_within > 0) {
    warnings.push_back(
        fmt::format("data: {} rows have nothing to learn within seq_len {} and are "
                    "left out: raise seq_len, or see them with sluice data",
                    summary.nothing_within, summary.seq_len));
  }
  return warnings;
}

}  // namespace sluice::profiler
