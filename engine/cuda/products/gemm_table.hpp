// The algorithm of every matrix product that was ever tuned on one GPU with one library, as a file
// of the user's store. Needs no CUDA.
#pragma once

#include <array>
#include <cstdint>
#include <filesystem>
#include <map>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "engine/cuda/products/gemm_product.hpp"
#include "sim/units.hpp"

namespace sluice::engine {

/// cublasLtMatmulAlgo_t: opaque, and valid for one version of the library.
struct GemmAlgorithm {
  std::array<std::uint64_t, 8> words{};
  friend bool operator==(const GemmAlgorithm&, const GemmAlgorithm&) = default;
};

/// What was measured when the algorithm was chosen.
struct GemmEntry {
  GemmAlgorithm algorithm{};
  std::string configuration;    ///< For readers.
  Seconds time{0};              ///< Of the product, alone on the GPU.
  Seconds first_time{0};        ///< With the library's first suggestion.
  std::int64_t suggestion = 0;  ///< Which the chosen one was; 0 is the first.
  std::int64_t suggestions = 1;
};

/// What a table's algorithms hold for.
struct GemmTableId {
  std::string gpu;                 ///< "NVIDIA H200"
  std::string compute_capability;  ///< "9.0"
  std::int64_t multiprocessors = 0;
  std::int64_t cublaslt = 0;  ///< cublasLtGetVersion()
  Bytes workspace{0};         ///< That an algorithm may use.
  friend bool operator==(const GemmTableId&, const GemmTableId&) = default;
};

class GemmTable {
 public:
  explicit GemmTable(GemmTableId id) : id_(std::move(id)) {}

  [[nodiscard]] const GemmTableId& id() const { return id_; }
  [[nodiscard]] const std::map<GemmKey, GemmEntry>& entries() const { return entries_; }
  /// Null where the product was never tuned.
  [[nodiscard]] const GemmEntry* find(const GemmKey& key) const;
  [[nodiscard]] std::vector<GemmKey> missing(std::span<const GemmKey> keys) const;
  /// What is there already stays, whatever was measured since: equal tables give equal bits.
  void add(const GemmKey& key, const GemmEntry& entry) { entries_.try_emplace(key, entry); }

  /// Hash of the algorithms of `keys`, which are all there: part of the numerics id. Measured times
  /// are no part of it.
  [[nodiscard]] std::string algorithms_hash(std::span<const GemmKey> keys) const;
  [[nodiscard]] std::string algorithms_hash() const;  ///< Of all entries.

 private:
  GemmTableId id_;
  std::map<GemmKey, GemmEntry> entries_;
};

[[nodiscard]] std::string to_json_text(const GemmTable& table);
/// Throws BadRequest naming `where`, the field and the fix: a damaged table, or one of another id.
[[nodiscard]] GemmTable gemm_table_from_json(const std::string& text, const std::string& where,
                                             const GemmTableId& id);

/// ROOT/gemm/NAME.json with a name of its own for each id.
[[nodiscard]] std::filesystem::path gemm_table_file(const std::filesystem::path& root,
                                                    const GemmTableId& id);
/// An empty table where there is no file; throws as gemm_table_from_json.
[[nodiscard]] GemmTable read_gemm_table(const std::filesystem::path& file, const GemmTableId& id);
/// Whole or not at all. Throws EnvironmentError naming the file.
void write_gemm_table(const GemmTable& table, const std::filesystem::path& file);

}  // namespace sluice::engine
