#include "planner/requests/kept_answer.hpp"

#include <algorithm>

#include "planner/catalogue/catalogue.hpp"
#include "planner/catalogue/cluster.hpp"
#include "planner/catalogue/counted_machine.hpp"
#include "planner/files/hash.hpp"
#include "planner/files/whole_file.hpp"
#include "planner/machines/profile_file.hpp"
#include "planner/policies/run_job.hpp"
#include "planner/requests/kept_planned.hpp"
#include "planner/requests/kept_search.hpp"
#include "sim/error.hpp"

namespace sluice::planner {
namespace {

std::filesystem::path answer_file(const Store& store, const std::string& key) {
  constexpr std::size_t kDigits = 24;
  return store.root() / "advice" / ("answer-" + key.substr(0, kDigits) + ".txt");
}

/// Name of the machine with one GPU, of one host, of those that `machine` has.
std::string one_host(const std::string& machine) {
  const auto cluster = cluster_named(machine);
  return counted_machine(cluster ? cluster->machine : machine).machine;
}

/// Adds the contents of the store's calibrations, in the order of their names.
void add_calibrations(CanonicalText& text, const Store& store) {
  std::error_code absent;
  std::vector<std::filesystem::path> files;
  for (const char* folder : {"calibration", "profiles"}) {
    for (const auto& entry : std::filesystem::directory_iterator(store.root() / folder, absent)) {
      if (entry.is_regular_file()) files.push_back(entry.path());
    }
  }
  std::ranges::sort(files);
  for (const auto& file : files)
    text.add(file.filename().string(), sha256_hex(read_whole_file(file)));
}

}  // namespace

std::optional<std::string> answer_key(const std::vector<std::string>& words, const RunConfig& run,
                                      const std::vector<std::string>& machines,
                                      const std::vector<std::filesystem::path>& files,
                                      const Store& store) {
  const auto program = built_program();
  if (!program) return std::nullopt;
  try {
    CanonicalText text("sluice-advice-answer 2");
    text.add("program", *program);
    for (const std::string& word : words) text.add("word", word);
    text.add("job", job_hash(to_job(run)));
    for (const std::string& machine : machines) {
      text.add("row", profile_hash(find_machine(one_host(machine), run.backend)));
    }
    for (const auto& file : files) text.add("file", sha256_hex(read_whole_file(file)));
    add_calibrations(text, store);
    return text.hash();
  } catch (const BadRequest&) {
    return std::nullopt;  // The advice itself says what is wrong.
  }
}

std::optional<std::string> run_answer_key(const std::vector<std::string>& words, const Request& run,
                                          const std::vector<std::filesystem::path>& files) {
  const auto program = built_program();
  if (!program) return std::nullopt;
  CanonicalText text("sluice-run-answer 1");
  text.add("program", *program).add("search", search_key(run));
  for (const std::string& word : words) text.add("word", word);
  for (const auto& file : files) text.add("file", sha256_hex(read_whole_file(file)));
  return text.hash();
}

std::optional<std::string> kept_answer(const Store& store, const std::string& key) {
  std::error_code absent;
  const std::filesystem::path file = answer_file(store, key);
  if (!std::filesystem::exists(file, absent)) return std::nullopt;
  try {
    return read_whole_file(file);
  } catch (const BadRequest&) {
    return std::nullopt;
  }
}

void keep_answer(const Store& store, const std::string& key, const std::string& answer) {
  try {
    write_whole_file(answer_file(store, key), answer);
  } catch (const EnvironmentError&) {
    // Advice does not need the store.
  }
}

}  // namespace sluice::planner
