// Rows of a CSV file with a header (RFC 4180).
#pragma once

#include "engine/rows/row_visitor.hpp"
#include "engine/rows/text_window.hpp"

namespace sluice::engine {

/// Calls `visitor` with each record of a CSV text as an object of texts, named by the first record.
/// Fields lie between commas or, where the first record has none, tabs, semicolons or bars (`tabs`:
/// always tabs); a quoted field may hold separators, line ends and doubled quotes. Blank lines are
/// no records. A record with another number of fields than the header, or with letters behind a
/// closing quote, goes to visitor.bad. Throws BadRequest "FILE:LINE: ..." if the first record
/// cannot be a header, as one that names a column twice.
void read_csv_rows(TextWindow& text, bool tabs, const RowVisitor& visitor);

}  // namespace sluice::engine
