// One entry of a dataset_info.json.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "engine/examples/dataset_info.hpp"

namespace sluice::engine {

/// Reads one entry of a dataset_info.json. Every refusal names `where` (the file and the entry) and
/// the field.
class RegistryEntry {
 public:
  /// Checks the fields of `entry`, which must outlive this. Throws BadRequest if it states what is
  /// not trained, or a field that is not known.
  RegistryEntry(const nlohmann::json& entry, std::string where);

  /// The data set that the entry describes; a file_name lies in `folder`. Throws BadRequest if a
  /// field is at fault, or the hub's local cache lacks the data set.
  [[nodiscard]] Dataset dataset(const std::filesystem::path& folder) const;

 private:
  using Names = std::vector<std::pair<const char*, std::string*>>;

  [[nodiscard]] std::optional<ExampleFormat> format() const;
  [[nodiscard]] ExampleFormat alpaca() const;
  [[nodiscard]] ExampleFormat messages(const std::string& formatting) const;
  void set_names(const std::string& section, const Names& names) const;
  void refuse_other_data() const;
  /// What to write instead of a ranking, to train on the answers that it prefers.
  [[nodiscard]] std::string advice_on_answers() const;
  [[nodiscard]] std::optional<std::string> text(const std::string& field) const;
  [[noreturn]] void refuse(const std::string& field, const std::string& reason) const;

  const nlohmann::json& entry_;
  std::string where_;
};

}  // namespace sluice::engine
