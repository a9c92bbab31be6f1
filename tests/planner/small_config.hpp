// A config.json of a model of two small layers.
#pragma once

#include <string>

#include "planner/models/shape.hpp"

namespace sluice::planner::test {

/// Text of a config.json of a model of `family` with two small layers, and with the further fields
/// `more`.
inline std::string config(const std::string& family, const std::string& more = "") {
  return R"({"model_type": ")" + family +
         R"(", "hidden_size": 64, "intermediate_size": 96, "num_hidden_layers": 2,
             "num_attention_heads": 4, "num_key_value_heads": 2, "vocab_size": 256,
             "hidden_act": "silu", "torch_dtype": "bfloat16")" +
         (more.empty() ? "" : ", " + more) + "}";
}

inline ModelShape read(const std::string& family, const std::string& more = "") {
  return shape_from_config(config(family, more), "config.json");
}

}  // namespace sluice::planner::test
