// Runs a job under the planner's plan and prints what was promised beside what was measured: one
// row of the published table.
//   step_cuda_bench MODEL SEQUENCES SEQ_LEN MICRO_BATCH auto|host [STEPS] [HOST_GIB] [flags]
// Flags are those of a run (`sluice train --help`) and the ones below. Synthetic tokens, random
// weights. By default 13 steps on machine h200, the first 3 not looked at. The prediction goes to
// the ledger before the run; $SLUICE_COMMIT stands for --commit.
#include <cstdio>
#include <cstdlib>

#include "planner/catalogue/store.hpp"
#include "planner/files/whole_file.hpp"
#include "planner/requests/run_arguments.hpp"
#include "profiler/row/row.hpp"
#include "sim/error.hpp"
#include "sim/units_text.hpp"

namespace {

using namespace sluice;
using Takes = planner::VerbFlag::Takes;

const std::string kUsage =
    "step_cuda_bench MODEL SEQUENCES SEQ_LEN MICRO_BATCH auto|host [STEPS] [HOST_GIB] [flags]\n"
    "  --json FILE               write the row (docs/schemas/row.schema.json)\n"
    "  --ledger FILE             of predictions and measurements (ledger.jsonl)\n"
    "  --commit COMMIT           of the program ($SLUICE_COMMIT, else what it was built from)\n"
    "  --name NAME               of the row\n"
    "  --warm-up N               steps that are not looked at (3)\n"
    "  --promise                 print the prediction; run nothing, write nothing\n";

/// Words before the first flag, as flags; a value that is not given has none.
std::vector<std::string> positional(int count, char** words, int& next) {
  static constexpr const char* kFlags[] = {
      "--model", "--batch-size", "--seq-len", "--micro-batch", "--residency", "--steps", "--host"};
  std::vector<std::string> flags;
  for (const char* flag : kFlags) {
    if (next == count || words[next][0] == '-') break;
    const std::string word = words[next++];
    flags.insert(flags.end(), {flag, std::string(flag) == "--host" ? word + " GiB" : word});
  }
  return flags;
}

struct Request {
  profiler::RowRequest row;
  std::optional<std::string> json;
  bool help = false;
};

Request request_of(int count, char** words) {
  std::vector<std::string> arguments{"--machine",    "h200",       "--backend",     "cuda",
                                     "--model",      "qwen2.5-7b", "--batch-size",  "32",
                                     "--seq-len",    "1024",       "--micro-batch", "4",
                                     "--loss-chunk", "2048",       "--steps",       "13"};
  int next = 1;
  const std::vector<std::string> given = positional(count, words, next);
  arguments.insert(arguments.end(), given.begin(), given.end());
  arguments.insert(arguments.end(), words + next, words + count);
  const planner::RunArguments read = planner::parse_run(arguments, {{"--json", Takes::value},
                                                                    {"--ledger", Takes::value},
                                                                    {"--commit", Takes::value},
                                                                    {"--name", Takes::value},
                                                                    {"--warm-up", Takes::value},
                                                                    {"--promise", Takes::nothing}});
  const char* commit = std::getenv("SLUICE_COMMIT");
  Request request{.row = {.name = read.value("--name").value_or("step"),
                          .config = read.config,
                          .ledger = read.value("--ledger").value_or("ledger.jsonl"),
                          .commit = read.value("--commit").value_or(commit ? commit : "")},
                  .json = read.value("--json"),
                  .help = read.has("--help")};
  if (read.has("--promise")) request.row.purpose = profiler::RowRequest::Purpose::promise;
  if (const auto warm_up = read.value("--warm-up")) {
    request.row.warm_up = planner::parse_count(*warm_up, "--warm-up");
  }
  return request;
}

void print(const std::string& text) {
  std::fputs(text.c_str(), stdout);
  std::fflush(stdout);
}

int fail(const char* what, ExitCode code) {
  std::fprintf(stderr, "step_cuda_bench: error: %s\n", what);
  return static_cast<int>(code);
}

}  // namespace

int main(int count, char** words) {
  try {
    const Request request = request_of(count, words);
    if (request.help) {
      print(kUsage + planner::run_flags_help());
      return static_cast<int>(ExitCode::done);
    }
    profiler::PromisedRow row = profiler::promise_row(request.row);
    print(profiler::promise_text(row));
    if (request.row.purpose == profiler::RowRequest::Purpose::promise) {
      print(planner::waterfall_table({{"predicted", row.waterfall}}));
      return static_cast<int>(ExitCode::done);
    }
    const profiler::MeasuredRow measured = profiler::run_row(row);
    print(profiler::row_text(row, measured));
    if (request.json) planner::write_whole_file(*request.json, profiler::row_json(row, measured));
    return static_cast<int>(ExitCode::done);
  } catch (const Error& error) {
    return fail(error.what(), error.code());
  } catch (const std::exception& error) {
    return fail(error.what(), ExitCode::environment);
  }
}
