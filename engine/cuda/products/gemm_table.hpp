// GEMM table: the algorithm of every matrix product tuned so far on one GPU with one library,
// stored as a file in the user's store. Needs no CUDA.
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

/// An algorithm for a matrix product: the contents of a cublasLtMatmulAlgo_t, which are opaque and
/// valid for one version of the library.
struct GemmAlgorithm {
  std::array<std::uint64_t, 8> words{};
  friend bool operator==(const GemmAlgorithm&, const GemmAlgorithm&) = default;
};

/// The algorithm chosen for one matrix product, and the measurements behind the choice.
struct GemmEntry {
  GemmAlgorithm algorithm{};
  std::string configuration;  ///< Settings of the algorithm as text, for people who read the file.
  Seconds time{0};        ///< Measured time of the product with this algorithm, alone on the GPU.
  Seconds first_time{0};  ///< Measured time of the product with the library's first suggestion.
  /// Index of the chosen algorithm among the library's suggestions, `suggestions` of them; 0 is its
  /// favourite.
  std::int64_t suggestion = 0;
  std::int64_t suggestions = 1;
};

/// What a table's algorithms are valid for: a kind of GPU, a version of cuBLASLt and an amount of
/// scratch.
struct GemmTableId {
  std::string gpu;                 ///< Name of the GPU, such as "NVIDIA H200".
  std::string compute_capability;  ///< Compute capability, such as "9.0".
  std::int64_t multiprocessors = 0;
  std::int64_t cublaslt = 0;  ///< Version of cuBLASLt (cublasLtGetVersion()).
  Bytes workspace{0};         ///< Scratch in device memory that an algorithm may use.
  friend bool operator==(const GemmTableId&, const GemmTableId&) = default;
};

class GemmTable {
 public:
  explicit GemmTable(GemmTableId id) : id_(std::move(id)) {}

  [[nodiscard]] const GemmTableId& id() const { return id_; }
  [[nodiscard]] const std::map<GemmKey, GemmEntry>& entries() const { return entries_; }
  /// The table's entry for the product `key`; null if it was never tuned.
  [[nodiscard]] const GemmEntry* find(const GemmKey& key) const;
  [[nodiscard]] std::vector<GemmKey> missing(std::span<const GemmKey> keys) const;
  /// Adds the entry of product `key` unless the table has one: existing entries never change, so
  /// that bits stay the same.
  void add(const GemmKey& key, const GemmEntry& entry) { entries_.try_emplace(key, entry); }

  /// Hash of the algorithms chosen for the products `keys`, which must all be in the table; part of
  /// the numerics id. Measured times are left out.
  [[nodiscard]] std::string algorithms_hash(std::span<const GemmKey> keys) const;
  /// Hash of the algorithms of all entries of the table.
  [[nodiscard]] std::string algorithms_hash() const;

 private:
  GemmTableId id_;
  std::map<GemmKey, GemmEntry> entries_;
};

[[nodiscard]] std::string to_json_text(const GemmTable& table);
/// Parses a table from `text`. Throws BadRequest naming `where`, the field and advice if the table
/// is damaged or was made for another GPU or library than `id`.
[[nodiscard]] GemmTable gemm_table_from_json(const std::string& text, const std::string& where,
                                             const GemmTableId& id);

/// Path of the file of the table for `id`: ROOT/gemm/NAME.json, with a different name for each id.
[[nodiscard]] std::filesystem::path gemm_table_file(const std::filesystem::path& root,
                                                    const GemmTableId& id);
/// Reads the table in `file`; an empty one if there is no file. Throws as gemm_table_from_json
/// does.
[[nodiscard]] GemmTable read_gemm_table(const std::filesystem::path& file, const GemmTableId& id);
/// Writes the table to `file`, completely or not at all. Throws EnvironmentError naming the file.
void write_gemm_table(const GemmTable& table, const std::filesystem::path& file);

}  // namespace sluice::engine
