// Histogram of documents' lengths.
#pragma once

#include <cstdint>
#include <span>
#include <string>

namespace sluice::cli {

/// Numbers of documents by their lengths as lines with bars; empty without documents.
[[nodiscard]] std::string length_histogram(std::span<const std::int64_t> lengths);

}  // namespace sluice::cli
