// The ledger: predictions written before a run and measurements that refer to them, each line
// chained to the one before, so that neither can be changed, dropped or back-dated unnoticed.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "engine/records/line_file.hpp"
#include "sim/units.hpp"

namespace sluice::engine {

/// What was promised, before the first task ran.
struct LedgerPrediction {
  std::string job_hash;
  std::string plan_hash;
  std::string cost_model_hash;
  std::string numerics_id;
  std::string commit;  ///< Of the program.
  Seconds step{0}, step_low{0}, step_high{0};
  bool rehearsal = false;  ///< The run's values mean nothing; its times do.
};

/// What happened.
struct LedgerMeasurement {
  std::string prediction;  ///< Hash of the prediction's line.
  std::int64_t steps = 0;
  Seconds median_step{0};
};

/// JSONL. Every line holds `kind`, `time` (UTC), `previous` (hash of the line before; 64 zeros for
/// the first) and `hash`: SHA-256 of the line as JSON with sorted keys, no spaces and no `hash`.
class Ledger {
 public:
  /// Opens `file` for appending, verifying what it already holds. Throws EnvironmentError where it
  /// cannot be written, BadRequest naming the line where the chain is broken.
  explicit Ledger(const std::filesystem::path& file);

  /// Appends and flushes to the medium; returns the line's hash. Other processes may append to the
  /// same file meanwhile. Throws BadRequest where one of them broke the chain.
  std::string append(const LedgerPrediction& prediction);
  std::string append(const LedgerMeasurement& measurement);

 private:
  std::string append_json(const std::string& body);

  std::string last_hash_;
  LineFile file_;
};

/// Lines of a verified ledger.
struct LedgerSummary {
  std::int64_t lines = 0;
  std::string last_hash;  ///< 64 zeros where the ledger is empty.
};
/// Checks the chain and that every measurement refers to an earlier prediction. Throws BadRequest
/// naming file and line. A missing file is an empty ledger.
[[nodiscard]] LedgerSummary verify_ledger(const std::filesystem::path& file);

}  // namespace sluice::engine
