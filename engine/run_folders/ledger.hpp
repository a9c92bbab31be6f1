// The ledger: predictions written before a run, and measurements that refer to them. Each line is
// chained to the one before, so that none can be changed, removed or back-dated unnoticed.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "engine/run_folders/line_file.hpp"
#include "sim/units.hpp"

namespace sluice::engine {

/// Prediction of a run, made before its first task.
struct LedgerPrediction {
  std::string job_hash;
  std::string plan_hash;
  std::string cost_model_hash;
  std::string numerics_id;
  std::string commit;  ///< Git commit of the program's source.
  Seconds step{0}, step_low{0}, step_high{0};
  /// What is known of the machine, such as "full probe" (planner::Knowledge); the machine's name
  /// and the job in words. Empty texts are left out.
  std::string knowledge = {}, machine = {}, job = {};
  /// Whether the run is a rehearsal, whose times are real and whose values mean nothing.
  bool rehearsal = false;
};

/// Measurement of a run that was predicted.
struct LedgerMeasurement {
  std::string prediction;  ///< Hash of the ledger's line with the prediction.
  std::int64_t steps = 0;
  Seconds median_step{0};
};

/// Appends to a ledger file in JSONL. Every line holds `kind`, `time` (UTC), `previous` (hash of
/// the line before; 64 zeros for the first) and `hash`: SHA-256 of the line as JSON with sorted
/// keys, no spaces and no `hash`.
class Ledger {
 public:
  /// Opens `file` for appending and verifies what it already holds. Throws EnvironmentError if it
  /// cannot be written, BadRequest naming the line if the chain is broken.
  explicit Ledger(const std::filesystem::path& file);

  /// Appends a line, waits until the disk holds it, and returns its hash. Other processes may
  /// append to the same file meanwhile. Throws BadRequest if one of them broke the chain.
  std::string append(const LedgerPrediction& prediction);
  std::string append(const LedgerMeasurement& measurement);

 private:
  std::string append_json(const std::string& body);

  std::string last_hash_;
  LineFile file_;
};

/// Length and last hash of a verified ledger.
struct LedgerSummary {
  std::int64_t lines = 0;
  std::string last_hash;  ///< Hash of the last line; 64 zeros if the ledger is empty.
};
/// Verifies the chain, and that every measurement refers to an earlier prediction. Throws
/// BadRequest naming file and line. A missing file counts as an empty ledger.
[[nodiscard]] LedgerSummary verify_ledger(const std::filesystem::path& file);

}  // namespace sluice::engine
