// `sluice data RUN`: what a run's data amount to, before anything is trained.
#include <unistd.h>

#include <cstdlib>

#include "cli/shown/amount_bar.hpp"
#include "cli/shown/data_text.hpp"
#include "cli/shown/prediction_table.hpp"
#include "cli/words/parse_run.hpp"
#include "profiler/training/data_json.hpp"
#include "profiler/training/data_notes.hpp"
#include "profiler/training/shown_data.hpp"
#include "sim/error.hpp"
#include "sim/units_text.hpp"
#include "sim/warning.hpp"

namespace sluice::cli {
namespace {

constexpr std::int64_t kUsualRows = 3;

std::vector<planner::VerbFlag> data_flags() {
  using Takes = planner::VerbFlag::Takes;
  return {{"--rows", Takes::value, "rows to show (3)"},
          {"--strict", Takes::nothing, "list and refuse every row that would be left out"},
          {"--json", Takes::nothing, "one JSON object (docs/schemas/data.schema.json)"}};
}

LearntMarks marks_of_output() {
  const bool plain = isatty(STDOUT_FILENO) == 0 || std::getenv("NO_COLOR") != nullptr;
  return plain ? LearntMarks::brackets : LearntMarks::colours;
}

}  // namespace

int run_data(const Arguments& arguments) {
  const planner::RunArguments words = parse_run(
      arguments, "sluice data RUN [--rows N] [--strict] [--json] [run flags]", data_flags());
  const auto rows = words.value("--rows");
  const std::int64_t shown = rows ? planner::parse_count(*rows, "--rows") : kUsualRows;
  const profiler::ShownData data = profiler::show_data(words, shown, words.has("--strict"),
                                                       amount_shown("cutting text into tokens"));
  if (words.has("--json")) {
    print(profiler::data_json(data));
  } else {
    print(data_text(data.summary, data.packed, marks_of_output()));
  }
  for (const std::string& warning : profiler::data_warnings(data.summary)) sim::warn(warning);
  return static_cast<int>(ExitCode::done);
}

}  // namespace sluice::cli
