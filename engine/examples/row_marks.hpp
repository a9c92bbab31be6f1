// Marks by which rows and turns say whether they are learnt.
#pragma once

#include <optional>
#include <string>

#include "engine/examples/example.hpp"

namespace sluice::engine {

/// Whether `name` is a field by which rows and turns say whether they are learnt: one of the usual
/// ones (weight, train, loss_mask, ...), or the one that the format names.
[[nodiscard]] bool is_mark(const std::string& name, const ExampleFormat& format);

/// Weight that a mark's value gives: 1 for true, 0 for false, a number as it is; each also as the
/// text that CSV files have ("0", "False"). None for null, an empty text and anything else.
[[nodiscard]] std::optional<double> weight_of_mark(const Json& value);

/// Reason why a row is not learnt as it stands, by its own marks: it is marked as not learnt, or
/// marked in a way that is not done here. None for other rows.
[[nodiscard]] std::optional<BadExample> marked_row(const Json& row, const ExampleFormat& format);

/// Whether a value says anything: it is neither null nor an empty text, list or object.
[[nodiscard]] bool is_filled(const Json& value);

}  // namespace sluice::engine
