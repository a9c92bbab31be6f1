// Rows of token ids that begin or end in one id, repeated.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <string>

namespace sluice::engine {

/// Counts, while rows of token ids are read, the runs of one learnt id at their beginnings and
/// ends. Rows that were padded by a token, such as the end of text, have such runs.
class RepeatedEnds {
 public:
  /// Adds the next value of the row. `learnt`: whether it is learnt.
  void add(std::int64_t id, bool learnt);
  /// Adds a place of the row that holds no token.
  void add_padding();
  void end_row();

  /// A sentence's end for a warning, "3 rows end in token 0, repeated (17 tokens of it)"; none
  /// unless at least two rows and 1 % of `tokens` look padded.
  [[nodiscard]] std::optional<std::string> told(std::int64_t tokens) const;

 private:
  struct Run {
    std::int64_t id = 0, length = 0;
  };
  /// Runs of one id at one side of the rows.
  struct Found {
    std::int64_t rows = 0, repeats = 0, longest = 0;
  };
  using ById = std::map<std::int64_t, Found>;
  static void count(const Run& run, ById& found);

  ById at_begin_, at_end_;
  Run begin_, end_;
  bool begin_ended_ = false;
};

}  // namespace sluice::engine
