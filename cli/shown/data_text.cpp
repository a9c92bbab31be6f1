#include "cli/shown/data_text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "cli/shown/length_histogram.hpp"
#include "profiler/training/data_notes.hpp"
#include "sim/units_text.hpp"

namespace sluice::cli {
namespace {

using engine::DataSetSummary;
using engine::DataSummary;

constexpr std::size_t kMostText = 2000;  ///< Bytes of a row's text that are shown.
constexpr std::size_t kMostIds = 32;     ///< Tokens of a row whose ids are shown.

double share_of(std::int64_t part, std::int64_t all) {
  return all > 0 ? static_cast<double>(part) / static_cast<double>(all) : 0;
}

std::string left_out_text(const engine::LeftOutRows& rows) {
  return fmt::format("left out {} row{} ({}), first {}", rows.rows, rows.rows == 1 ? "" : "s",
                     rows.reason, rows.first);
}

/// The files that a folder, glob or name of a data set stands for; nothing for a file itself.
std::string files_text(const DataSetSummary& set) {
  constexpr std::size_t kMostFiles = 8;
  if (set.files.size() == 1 && set.files.front() == set.name) return "";
  std::string text;
  for (std::size_t i = 0; i < std::min(set.files.size(), kMostFiles); ++i) {
    text +=
        fmt::format("{}{}\n", i == 0 ? "files        " : "             ", set.files[i].string());
  }
  if (set.files.size() > kMostFiles) {
    text +=
        fmt::format("             and {} more: --json lists all\n", set.files.size() - kMostFiles);
  }
  return text;
}

std::string set_text(const DataSetSummary& set) {
  std::string text = fmt::format("data         {}: {}", set.name, set.format);
  if (set.format != "text") {
    text += fmt::format(", {} of {} rows used", set.rows_used, set.rows_read);
  }
  if (set.num_samples) text += fmt::format(", {} taken by num_samples", *set.num_samples);
  if (set.weight != 1) text += fmt::format(", each {:g} times an epoch", set.weight);
  text += '\n';
  text += files_text(set);
  for (const engine::LeftOutRows& rows : set.left_out) {
    text += "             " + left_out_text(rows) + "\n";
  }
  if (set.replaced_surrogates > 0) {
    text +=
        fmt::format("             {} lone surrogates read as U+FFFD\n", set.replaced_surrogates);
  }
  return text;
}

/// A row under its number, and under the name of its data set where there are several.
std::string row_text(const engine::ShownRow& row, std::size_t number, bool several,
                     LearntMarks marks) {
  const std::int64_t learnt = std::ranges::count_if(row.tokens, engine::is_learnt);
  std::string text = fmt::format("\n--- row {}{}: {} tokens, {} learnt\n", number,
                                 several ? " of " + row.set : "", row.tokens.size(), learnt);
  if (!row.pieces.empty()) text += marked_text(row.pieces, marks, kMostText) + "\n";
  return text + "ids: " + marked_ids(row.tokens, marks, kMostIds) + "\n";
}

std::string lengths_text(const std::vector<std::int64_t>& lengths) {
  if (lengths.size() < 2) return "";
  std::vector<std::int64_t> sorted = lengths;
  std::ranges::sort(sorted);
  const std::int64_t all = std::accumulate(sorted.begin(), sorted.end(), std::int64_t{0});
  return fmt::format("lengths      {} documents of {} to {} tokens, median {}, mean {:.1f}\n",
                     sorted.size(), sorted.front(), sorted.back(), sorted[sorted.size() / 2],
                     share_of(all, std::ssize(sorted))) +
         length_histogram(lengths);
}

std::string padding_of(const DataSummary& summary,
                       const std::optional<engine::PackedSequences>& packed) {
  std::string text = fmt::format("padding      {:.1f} % of places",
                                 100 * (1 - share_of(summary.used_places, summary.places)));
  const std::int64_t sequences = summary.training_sequences + summary.validation_sequences;
  if (packed && packed->training + packed->validation < sequences) {
    text += fmt::format(": packing=documents would take {} sequences instead of {}",
                        packed->training + packed->validation, sequences);
  }
  return text + "\n";
}

}  // namespace

std::string data_text(const DataSummary& summary,
                      const std::optional<engine::PackedSequences>& packed, LearntMarks marks) {
  std::string text;
  for (const DataSetSummary& set : summary.sets) text += set_text(set);
  const bool given = !summary.sets.empty() && summary.sets.front().format == "tokens";
  const std::string without = given ? "none: the data are token ids" : "none: bytes are tokens";
  text += fmt::format("tokenizer    {}\n",
                      summary.tokenizer.empty() ? without : summary.tokenizer.string());
  if (summary.chat_template) text += fmt::format("template     {}\n", *summary.chat_template);
  std::size_t number = 0;
  const std::string* set = nullptr;
  for (const engine::ShownRow& row : summary.first_rows) {
    if (set == nullptr || *set != row.set) number = 0;
    set = &row.set;
    text += row_text(row, ++number, summary.sets.size() > 1, marks);
  }
  text += "\n" + lengths_text(summary.lengths);
  text += fmt::format("learnt       {:.1f} % of the tokens that are trained on: {} of {}\n",
                      100 * profiler::learnt_share(summary), summary.learnt_places,
                      summary.used_places);
  text += fmt::format(
      "sequences    {} to train on and {} to validate with, of {} tokens, packing {}\n",
      summary.training_sequences, summary.validation_sequences, summary.seq_len, summary.packing);
  text += padding_of(summary, packed);
  if (summary.cut_off > 0) {
    text += fmt::format("cut off      {} at seq_len {}\n", summary.cut_off, summary.seq_len);
  }
  if (summary.nothing_within > 0) {
    text += fmt::format("left out     {}: nothing to learn within seq_len {}\n",
                        summary.nothing_within, summary.seq_len);
  }
  if (summary.left_out_windows > 0) {
    text += fmt::format("left out     {} windows: nothing to learn in them\n",
                        summary.left_out_windows);
  }
  return text;
}

}  // namespace sluice::cli
