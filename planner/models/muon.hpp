// What Muon updates of a model, and how large its state and scratch are (docs/muon.md).
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "planner/kernels/kernel_work.hpp"
#include "planner/models/job.hpp"

namespace sluice::planner {

/// Whether a job with Muon leaves the tensor to it: a weight matrix of a block. Embedding, head,
/// vectors and convolutions are AdamW's.
[[nodiscard]] bool is_muons(const TensorSpec& tensor);

/// Whether Muon updates matrices of the job's unit `unit`. Its update then runs on the device, from
/// the whole matrices' momenta.
[[nodiscard]] bool muon_updates(const Job& job, std::size_t unit);

/// Where the second moments v of a unit's tensors lie in its vector of them, which has room for
/// those alone that have one: AdamW's tensors, in the unit's order, each aligned as there.
struct SecondMoments {
  std::vector<std::optional<std::int64_t>> begin;  ///< First element by tensor; none for Muon's.
  std::int64_t elements = 0;  ///< Elements of the vector; at least one alignment.
};
/// Second moments of a block of a job with Muon.
[[nodiscard]] SecondMoments muon_second_moments(const UnitTensors& unit);
/// SecondMoments::elements of the unit, computed without making the names of many tensors.
[[nodiscard]] std::int64_t muon_second_size(const Job& job, std::size_t unit);

/// Matrices of one block that Muon updates, with the same sides: `side` is the smaller one.
struct MuonSides {
  std::int64_t side, other;
  std::int64_t count;  ///< Number of such matrices.
};
/// The block's matrices that Muon updates, each pair of sides once.
[[nodiscard]] std::vector<MuonSides> muon_matrices(const Job& job, std::size_t unit);
/// Matrix products of the block's update.
[[nodiscard]] std::vector<Gemm> muon_products(const Job& job, std::size_t unit);

/// Byte offsets of the scratch of one matrix's update, each a multiple of 256, in a workspace that
/// is large enough for every matrix of the job. The smaller side of a matrix is s, its elements n.
struct MuonWorkspace {
  Bytes x, next;       ///< Offsets of [n]: the iterate, and the one after it.
  Bytes gram, update;  ///< Offsets of [s, s]: X X^T, and b X X^T + c (X X^T)^2.
  Bytes norms;         ///< Offset of double [blocks of kNormBlock elements + 1]: sums of squares.
  Bytes total;
};
/// Scratch of the job's updates, with `element` bytes for an element of a matrix; all zero without
/// Muon.
[[nodiscard]] MuonWorkspace muon_workspace(const Job& job, Bytes element);
/// Bytes of an element of that scratch on the host, which computes products in fp32.
inline constexpr Bytes kHostMuonElement{4};

}  // namespace sluice::planner
