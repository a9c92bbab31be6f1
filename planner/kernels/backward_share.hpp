// Speed of attention's backward pass over that of its forward pass.
#pragma once

#include <string_view>

#include "planner/kernels/kernel_work.hpp"

namespace sluice::planner {

struct BackwardShare {
  double share;               ///< FLOP/s of the backward pass over those of the forward pass.
  double relative_deviation;  ///< Standard deviation of `share` over it.
};

/// The ratio of speeds for attention of that shape on a device of `architecture` ("sm_90"), from
/// published measurements of both passes (planner/kernels/backward_share.cpp); between their
/// lengths linear in the logarithm of the keys that the last query sees, beyond them constant.
[[nodiscard]] BackwardShare backward_share(const AttentionWork& attention,
                                           std::string_view architecture);

/// FLOP/s of the forward pass with `attention.library` over those with the library that kernel
/// tables of such a device measured: below 1 for FlashAttention-2 on Hopper, where tables measured
/// version 3; 1 elsewhere.
[[nodiscard]] double forward_share(const AttentionWork& attention, std::string_view architecture);

/// Head size of the kernel that computes heads of `attention.head_dim`: libraries have kernels of
/// some sizes, and pad smaller heads to the next of them. Beyond the largest, the size itself.
[[nodiscard]] std::int64_t padded_head_dim(const AttentionWork& attention);

}  // namespace sluice::planner
