// AdamW of one element on a CUDA device.
#pragma once

#include "engine/optimizer/adamw.hpp"
#include "engine/optimizer/master_weights.hpp"

namespace sluice::engine::cuda {

/// State of one element while it is updated.
struct Element {
  float m, v;
  SplitMaster master;
};

/// The element after its update, by the operations that engine/optimizer/adamw.hpp lists.
__device__ inline Element updated(Element e, float gradient, bool decays, const AdamWStep& step) {
  const float g = __fmul_rn(gradient, step.clip_scale);
  e.m = __fmaf_rn(step.one_minus_beta1, g, __fmul_rn(step.beta1, e.m));
  e.v = __fmaf_rn(step.one_minus_beta2, __fmul_rn(g, g), __fmul_rn(step.beta2, e.v));
  const float d = __fmaf_rn(__fsqrt_rn(e.v), step.inverse_root_correction2, step.eps);
  float p = join_master(e.master);
  if (decays) p = __fmaf_rn(step.minus_decay, p, p);
  p = __fmaf_rn(step.minus_step_size, __fdiv_rn(e.m, d), p);
  e.master = split_master(p);
  return e;
}

}  // namespace sluice::engine::cuda
