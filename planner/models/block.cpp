#include "planner/models/block.hpp"

namespace sluice::planner {

const char* to_string(Activation activation) {
  switch (activation) {
    case Activation::silu:
      return "silu";
    case Activation::gelu_tanh:
      return "gelu_tanh";
    case Activation::relu2:
      return "relu2";
    case Activation::clamped_swiglu:
      return "clamped_swiglu";
  }
  return "";
}

const char* to_string(HeadNorm norm) {
  switch (norm) {
    case HeadNorm::none:
      return "none";
    case HeadNorm::per_head:
      return "per_head";
    case HeadNorm::full_width:
      return "full_width";
    case HeadNorm::per_head_weightless:
      return "per_head_weightless";
  }
  return "";
}

const char* to_string(Mixer mixer) {
  return mixer == Mixer::attention ? "attention" : "gated_delta_net";
}

}  // namespace sluice::planner
