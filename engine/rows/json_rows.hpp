// Rows of a JSON file, found by their brackets, so that only one at a time is parsed.
#pragma once

#include "engine/rows/row_visitor.hpp"
#include "engine/rows/text_window.hpp"

namespace sluice::engine {

/// Calls `visitor` with each row of a JSON text: its lines where each holds one value; the items of
/// a list; objects written over several lines, one after the other; or the items of the one list of
/// objects that a single object holds ({"data": [...]}), unless the object is a row itself (its
/// list is called messages, conversations, chosen, ...). Throws BadRequest "FILE:LINE: ..." where
/// the text as a whole has another form.
void read_json_rows(TextWindow& text, const RowVisitor& visitor);

}  // namespace sluice::engine
