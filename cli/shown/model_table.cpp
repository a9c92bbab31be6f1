#include "cli/shown/model_table.hpp"

#include <fmt/format.h>

#include "planner/catalogue/model_list.hpp"
#include "planner/models/config_notes.hpp"
#include "planner/models/support.hpp"
#include "sim/units_text.hpp"

namespace sluice::cli {
namespace {

using planner::HeadNorm;
using planner::ModelShape;
using planner::RopeScaling;

std::string rope_text(const planner::RotaryTable& table) {
  const RopeScaling& rope = table.scaling;
  std::string text = fmt::format("theta {}", table.theta);
  if (table.rotated) text += fmt::format(", {} elements of a head", *table.rotated);
  switch (rope.kind) {
    case RopeScaling::Kind::none:
      return text + ", no scaling";
    case RopeScaling::Kind::linear:
      return text + fmt::format(", linear scaling by {}", rope.factor);
    case RopeScaling::Kind::llama3:
      return text + fmt::format(", llama3 scaling by {} (low {}, high {}, from {} positions)",
                                rope.factor, rope.low_freq_factor, rope.high_freq_factor,
                                rope.original_max_positions);
    case RopeScaling::Kind::yarn:
      return text + fmt::format(
                        ", yarn scaling by {} (beta {} and {}, from {} positions, attention "
                        "factor {:.6g})",
                        rope.factor, rope.beta_fast, rope.beta_slow, rope.original_max_positions,
                        rope.attention_factor);
    case RopeScaling::Kind::longrope:
      return text + fmt::format(", longrope scaling (from {} positions, attention factor {:.6g})",
                                rope.original_max_positions, rope.attention_factor);
    case RopeScaling::Kind::proportional:
      return text + ", with the frequencies of the whole head";
  }
  return text;
}

/// Windows and positions of layers of several kinds: "24 of 30 with a window of 512 tokens".
std::string kinds_text(const ModelShape& shape) {
  std::string text;
  for (std::size_t kind = 0; kind < shape.kinds.size(); ++kind) {
    const planner::LayerKind& each = shape.kinds[kind];
    text += fmt::format("{}{} layers with {}", kind == 0 ? "" : "; ", layers_of_kind(shape, kind),
                        each.window ? fmt::format("a window of {} tokens", *each.window)
                                    : std::string("no window"));
    if (planner::is_linear(each)) {
      text += " (gated delta nets)";
    } else if (!each.rotary) {
      text += " and no positions";
    }
    if (each.head_dim) text += fmt::format(", head_dim {}", *each.head_dim);
    if (each.kv_heads) text += fmt::format(", {} heads of keys", *each.kv_heads);
    if (each.values_are_keys) text += ", values that are keys";
    if (each.dense_intermediate) text += fmt::format(", feed-forward {}", *each.dense_intermediate);
    if (each.rotary && shape.rotary.size() > 1) {
      text += ", rope " + rope_text(shape.rotary[*each.rotary]);
    }
  }
  return text;
}

std::string norms_text(const ModelShape& shape) {
  std::string text = fmt::format("rms_norm_eps {}", shape.rms_eps);
  const planner::NormSlots& norms = shape.norms;
  if (norms.after_attention || norms.after_mlp) {
    text += norms.before_attention ? ", before and after sublayers" : ", after sublayers";
  }
  if (norms.one_plus_weight) text += ", times 1 + weight";
  return text;
}

std::string attention_text(const ModelShape& shape) {
  std::string text = fmt::format("{} heads, {} of keys and values, head_dim {}", shape.heads,
                                 shape.kv_heads, shape.head_dim);
  if (shape.kinds.size() == 1) {
    const auto window = shape.kinds.front().window;
    text += window ? fmt::format(", a window of {} tokens", *window) : std::string(", no window");
  }
  if (shape.head_norm != HeadNorm::none) text += ", norms on q and k";
  if (const auto& latent = shape.latent) {
    text += fmt::format(", made of {} elements (keys) and {} (queries), values of {}",
                        latent->rank + latent->rotated, latent->query_rank.value_or(shape.hidden),
                        latent->value);
  }
  if (const auto& net = shape.delta_net) {
    text += fmt::format("; gated delta nets of {} heads of {} and {} of {}", net->key_heads,
                        net->key_dim, net->value_heads, net->value_dim);
  }
  if (shape.qkv_bias) text += shape.o_bias ? ", biases" : ", biases on q, k and v";
  return text;
}

std::string layers_text(const ModelShape& shape) {
  std::string text = fmt::format("{} of {} hidden elements", shape.layers, shape.hidden);
  if (const auto& experts = shape.experts) {
    text += fmt::format(", {} experts of {}, of which a token uses {} (shares {})", experts->count,
                        experts->intermediate, experts->active,
                        experts->normalized ? "that add up to 1" : "of all experts");
  } else {
    text += fmt::format(", feed-forward {}{}", shape.intermediate,
                        shape.mlp_bias ? " with biases" : "");
  }
  return text;
}

}  // namespace

const char* to_string(planner::ModelSource::Kind kind) {
  using Kind = planner::ModelSource::Kind;
  switch (kind) {
    case Kind::catalogue:
      return "catalogue";
    case Kind::hub_name:
      return "catalogue, by its Hugging Face id";
    case Kind::config:
      return "config.json";
    case Kind::folder:
      return "folder";
    case Kind::run:
      return "newest checkpoint of a run";
    case Kind::snapshot:
      return "Hugging Face cache";
  }
  return "";
}

std::string fact_line(const std::string& word, const std::string& text) {
  return fmt::format("{:<11} {}\n", word, text);
}

std::string model_table(const planner::ModelSource& source, const std::string& config_text,
                        const ModelShape& shape) {
  const std::string from = to_string(source.kind);
  std::string text =
      fact_line("from", source.config.empty() ? from : from + ": " + source.config.string());
  text += fact_line("layers", layers_text(shape));
  text += fact_line("attention", attention_text(shape));
  if (shape.kinds.size() > 1) text += fact_line("kinds", kinds_text(shape));
  if (shape.rotary.size() == 1) text += fact_line("rope", rope_text(shape.rotary.front()));
  text += fact_line("norms", norms_text(shape));
  text += fact_line("vocabulary", fmt::format("{} tokens, {}", shape.vocab,
                                              shape.tied_head ? "embedding and head are tied"
                                                              : "a head of its own"));
  if (shape.max_positions) {
    text +=
        fact_line("positions", fmt::format("{} (max_position_embeddings)", *shape.max_positions));
  }
  const std::string dtype = planner::stated_dtype(config_text);
  text += fact_line("dtype", dtype.empty() ? "not stated" : dtype);
  if (const auto defaults = planner::defaulted_keys(config_text, shape); !defaults.empty()) {
    text += fact_line("defaults", planner::defaults_text(defaults));
  }
  const auto host = planner::unsupported_by_host(shape), cuda = planner::unsupported_by_cuda(shape);
  if (host || cuda) {
    const std::string only = host ? "predicted only: it has " + *host
                                  : "trained by the host backend only: it has " + *cuda;
    text += fact_line("backends", only);
  }
  for (const std::string& note : planner::config_notes(config_text, shape)) {
    text += fact_line("note", note);
  }
  const std::int64_t parameters = parameter_count(shape);
  text += fact_line(
      "memory",
      fmt::format("{} in bf16; {} with fp32 master, m and v to train",
                  planner::format_bytes(Bytes(2 * parameters)),
                  planner::format_bytes(Bytes(parameters * planner::kStateBytesAParameter))));
  return text;
}

}  // namespace sluice::cli
