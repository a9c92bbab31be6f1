#include <algorithm>
#include <charconv>
#include <fstream>
#include <optional>
#include <set>
#include <sstream>

#include "planner/requests/run_arguments.hpp"
#include "profiler/study/study.hpp"
#include "sim/error.hpp"

namespace sluice::profiler {
namespace {

std::vector<std::string> words_of(std::string line) {
  line.resize(std::min(line.size(), line.find('#')));
  std::istringstream stream(line);
  std::vector<std::string> words;
  for (std::string word; stream >> word;) words.push_back(word);
  return words;
}

/// Takes every "--bursts N" out of `flags`; the last one counts.
std::optional<std::int64_t> take_bursts(std::vector<std::string>& flags) {
  std::optional<std::int64_t> bursts;
  for (auto at = std::find(flags.begin(), flags.end(), "--bursts"); at != flags.end();
       at = std::find(at, flags.end(), "--bursts")) {
    const std::string number = at + 1 == flags.end() ? "" : at[1];
    std::int64_t value = 0;
    const auto [end, error] = std::from_chars(number.data(), number.data() + number.size(), value);
    if (error != std::errc() || end != number.data() + number.size() || value < 1 || value > 100) {
      throw BadRequest("--bursts: must be a number from 1 to 100");
    }
    bursts = value;
    at = flags.erase(at, at + 2);
  }
  return bursts;
}

StudyRun run_of(const std::vector<std::string>& words, const std::vector<std::string>& defaults) {
  if (words.size() < 2 || (words[1] != "calibrate" && words[1] != "predict")) {
    throw BadRequest("must be NAME, calibrate or predict, and the flags of a run");
  }
  std::vector<std::string> flags = defaults;
  flags.insert(flags.end(), words.begin() + 2, words.end());
  const std::optional<std::int64_t> bursts = take_bursts(flags);
  return {.name = words[0],
          .calibrates = words[1] == "calibrate",
          .config = planner::parse_run(flags).config,
          .bursts = bursts};
}

}  // namespace

std::vector<StudyRun> read_study(const std::filesystem::path& file) {
  std::ifstream stream(file);
  if (!stream) throw BadRequest(file.string() + ": cannot be read");
  std::vector<StudyRun> runs;
  std::vector<std::string> defaults;
  std::set<std::string> names;
  std::string line;
  for (int number = 1; std::getline(stream, line); ++number) {
    std::vector<std::string> words = words_of(line);
    if (words.empty()) continue;
    if (words[0] == "defaults") {
      defaults.assign(words.begin() + 1, words.end());
      continue;
    }
    try {
      runs.push_back(run_of(words, defaults));
      if (!names.insert(words[0]).second) throw BadRequest(words[0] + " is there already");
    } catch (const BadRequest& error) {
      throw BadRequest(file.string() + ":" + std::to_string(number) + ": " + error.what());
    }
  }
  if (runs.empty()) throw BadRequest(file.string() + ": has no runs");
  return runs;
}

}  // namespace sluice::profiler
