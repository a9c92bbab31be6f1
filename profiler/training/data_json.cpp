#include "profiler/training/data_json.hpp"

#include <nlohmann/json.hpp>

#include "profiler/training/length_bins.hpp"

namespace sluice::profiler {
namespace {

using nlohmann::ordered_json;

ordered_json set_json(const engine::DataSetSummary& set) {
  ordered_json out = {{"name", set.name},
                      {"files", ordered_json::array()},
                      {"format", set.format},
                      {"weight", set.weight},
                      {"num_samples", nullptr},
                      {"rows_read", set.rows_read},
                      {"rows_used", set.rows_used},
                      {"left_out", ordered_json::array()},
                      {"replaced_surrogates", set.replaced_surrogates}};
  if (set.num_samples) out["num_samples"] = *set.num_samples;
  for (const auto& file : set.files) out["files"].push_back(file.string());
  for (const engine::LeftOutRows& rows : set.left_out) {
    out["left_out"].push_back(
        {{"reason", rows.reason}, {"rows", rows.rows}, {"first", rows.first}});
  }
  return out;
}

/// A row, with the name of its data set where there are several.
ordered_json row_json(const engine::ShownRow& row, bool several) {
  ordered_json out;
  if (several) out["set"] = row.set;
  for (const char* list : {"text", "ids", "learnt"}) out[list] = ordered_json::array();
  for (const engine::ShownPiece& piece : row.pieces) {
    out["text"].push_back({{"text", piece.text}, {"learnt", piece.learnt}});
  }
  for (const engine::LearntToken token : row.tokens) {
    out["ids"].push_back(engine::id_of(token));
    out["learnt"].push_back(engine::is_learnt(token));
  }
  return out;
}

}  // namespace

std::string data_json(const ShownData& data) {
  const auto& [summary, packed] = data;
  ordered_json out;
  out["version"] = 1;
  out["sets"] = ordered_json::array();
  for (const engine::DataSetSummary& set : summary.sets) out["sets"].push_back(set_json(set));
  out["tokenizer"] =
      summary.tokenizer.empty() ? ordered_json(nullptr) : ordered_json(summary.tokenizer.string());
  out["template"] =
      summary.chat_template ? ordered_json(*summary.chat_template) : ordered_json(nullptr);
  out["packing"] = summary.packing;
  out["seq_len"] = summary.seq_len;
  out["documents"] = summary.lengths.size();
  out["lengths"] = ordered_json::array();
  for (const LengthBin& bin : length_bins(summary.lengths)) {
    out["lengths"].push_back({{"from", bin.from}, {"to", bin.to}, {"documents", bin.documents}});
  }
  out["tokens"] = summary.tokens;
  out["learnt_tokens"] = summary.learnt_tokens;
  out["training_sequences"] = summary.training_sequences;
  out["validation_sequences"] = summary.validation_sequences;
  out["places"] = summary.places;
  out["used_places"] = summary.used_places;
  out["learnt_places"] = summary.learnt_places;
  out["packed_sequences"] =
      packed ? ordered_json(packed->training + packed->validation) : ordered_json(nullptr);
  out["cut_off"] = summary.cut_off;
  out["nothing_within"] = summary.nothing_within;
  out["left_out_windows"] = summary.left_out_windows;
  out["rows"] = ordered_json::array();
  for (const engine::ShownRow& row : summary.first_rows)
    out["rows"].push_back(row_json(row, summary.sets.size() > 1));
  return out.dump(2, ' ', false, ordered_json::error_handler_t::replace) + "\n";
}

}  // namespace sluice::profiler
