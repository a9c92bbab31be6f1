// Equations, for a product of [m, k] by [k, n] and for attention heads of dimension d:
//   matrix product                          2 m n k FLOPs
//   causal attention of one head, L tokens  P = visible (query, key) pairs = L (L + 1) / 2, fewer
//                                           under a sliding window; forward 4 d P FLOPs (scores and
//                                           values), backward 10 d P (scores again, dV, dP, dQ, dK)
//   chunks with `prior` keys before them    P = L (L + 1) / 2 + L prior
#include "planner/kernels/kernel_work.hpp"

#include <algorithm>

namespace sluice::planner {
namespace {

double visible_pairs(const AttentionWork& a) {
  const double length = static_cast<double>(a.length);
  const double hidden_from =
      static_cast<double>(std::max<std::int64_t>(0, a.length - a.window.value_or(a.length)));
  return length * (length + 1) / 2 - hidden_from * (hidden_from + 1) / 2 +
         length * static_cast<double>(a.prior);
}

}  // namespace

const char* to_string(AttentionLibrary library) {
  switch (library) {
    case AttentionLibrary::cudnn:
      return "cudnn";
    case AttentionLibrary::flash:
      return "flash";
    case AttentionLibrary::flash2:
      return "flash2";
  }
  return "";
}

Flops flops(const Gemm& g) {
  return Flops(2.0 * static_cast<double>(g.m) * static_cast<double>(g.n) *
               static_cast<double>(g.k) * static_cast<double>(g.count));
}

Flops flops(const AttentionWork& a) {
  return Flops((a.backward ? 10.0 : 4.0) * static_cast<double>(a.sequences * a.heads) *
               static_cast<double>(a.head_dim) * visible_pairs(a));
}

std::int64_t keys_seen(const AttentionWork& attention) {
  const std::int64_t seen = attention.length + attention.prior;
  return std::min(seen, attention.window.value_or(seen));
}

}  // namespace sluice::planner
