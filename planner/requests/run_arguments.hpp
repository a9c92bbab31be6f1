// The arguments every verb that takes a RUN shares.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "planner/policies/policy.hpp"
#include "planner/runs/run_config.hpp"

namespace sluice::planner {

/// A flag of one verb, beside those that state the run.
struct VerbFlag {
  enum class Takes { nothing, value };
  std::string name;  ///< With its dashes: "--json", "-o".
  Takes takes = Takes::nothing;
  std::string help = {};
};

/// A run and the verb's own flags as given.
struct RunArguments {
  RunConfig config;
  std::optional<Policy> policy = {};  ///< The run's policy, if it names one that can be read.
  std::optional<std::filesystem::path> run_file;          ///< The RUN.yaml, if one was named.
  std::map<std::string, std::vector<std::string>> flags;  ///< Values by flag; "" for none.
  std::vector<std::string> stated;  ///< Paths of the run that words state, whatever the file says.
  [[nodiscard]] bool has(const std::string& flag) const { return flags.contains(flag); }
  /// The last value given.
  [[nodiscard]] std::optional<std::string> value(const std::string& flag) const;
};

/// Reads `RUN.yaml`, `key=value` overrides and flags (`--seq-len 1024`, `--seq-len=1024`) in order,
/// each overriding what came before; the file always comes first. `arguments` excludes program and
/// verb. Throws BadRequest for unknown flags (naming the nearest), missing values, a second file.
[[nodiscard]] RunArguments parse_run(const std::vector<std::string>& arguments,
                                     const std::vector<VerbFlag>& own = {});

/// Help text of the run flags, one a line.
[[nodiscard]] std::string run_flags_help();

}  // namespace sluice::planner
