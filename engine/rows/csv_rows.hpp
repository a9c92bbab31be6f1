// Rows of a CSV file with a header (RFC 4180).
#pragma once

#include "engine/rows/row_visitor.hpp"
#include "engine/rows/text_window.hpp"

namespace sluice::engine {

/// Visits the records of a text as objects of texts, named by the first record. Fields lie between
/// commas or, where the first record has none, tabs, semicolons or bars (`tabs`: always tabs); a
/// quoted field may hold separators, line ends and doubled quotes. Blank lines are no records. A
/// record with another number of fields than the header, or with letters behind a closing quote,
/// is a bad one. Throws BadRequest "FILE:LINE: ..." if the header is none.
void read_csv_rows(TextWindow& text, bool tabs, const RowVisitor& visitor);

}  // namespace sluice::engine
