// Computation of one transformer block on the host: HostTemplates bound to the weights, the record
// and the scratch of one call.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>

#include "engine/host/elementwise.hpp"
#include "engine/host/gemm.hpp"
#include "engine/host/routes.hpp"
#include "engine/host/templates.hpp"

namespace sluice::engine {

/// Computation of one transformer block in one call, for T = `tokens` tokens, at most those of a
/// micro-batch. Its functions read and write the record's tensors (planner/graph/record.hpp). Tile
/// sizes are those of planner/scratch/workspace.hpp.
class BlockRun {
 public:
  BlockRun(const HostTemplates& templates, Weights weights, RecordView record, Workspace workspace,
           std::int64_t tokens);

  void project_qkv();       ///< Computes q, k and v from x.
  void attend();            ///< Computes attention and lse from q, k and v.
  void project_residual();  ///< Computes residual from x and attention.
  /// Attention and output projection of tokens that continue a sequence: computes their keys and
  /// values, which it adds to `kept`, and residual, from x.
  void extend(const KeptKeys& kept);
  void rebuild_mlp();  ///< Recomputes gate and up from residual, if the record holds them.
  /// Computes gate, up and next_input [T, hidden] from residual.
  void feed_forward(std::byte* next_input);
  void project_router();  ///< Computes the router's logits from residual.
  /// Chooses the tokens' experts by the router's logits and writes to `begins`, int32 [experts +
  /// 1], the number of routes (pairs of a token and an expert) to the experts before each, then
  /// that of all routes.
  void number_routes(std::int32_t* begins) const;
  /// Computes gate, up and next_input [T, hidden] from residual and the router's logits.
  void apply_experts(std::byte* next_input);
  /// Adds the micro-batch's number of routes to each expert, and each expert's probability summed
  /// over its tokens, to the sums over earlier blocks, and writes both behind next_input's tokens.
  /// Does nothing without a router_aux_loss_coef.
  void add_balance(std::byte* next_input) const;

  /// Parts of the backward pass, each over all tokens, to be called in this order. `gradient`: fp32
  /// [padded], of the block's weights; `stream_gradient`: of the residual stream, [T, hidden].
  void mlp_backward(float* gradient, std::byte* stream_gradient);
  void output_backward(float* gradient, const std::byte* stream_gradient);
  void attention_backward();
  void rotary_backward(float* gradient);
  void qkv_backward(float* gradient, std::byte* stream_gradient);

 private:
  /// Tokens [begin, begin + count) of the micro-batch.
  struct Tile {
    std::int64_t begin, count;
  };
  template <class Body>
  void for_tiles(Body body) const {
    for_tiles(planner::kTokenTile, body);
  }
  /// Calls `body` for tile after tile of tokens, none larger than the number of tokens whose MLP
  /// tensors exist at one time.
  template <class Body>
  void for_mlp_tiles(Body body) const {
    for_tiles(std::min(planner::kTokenTile, job_.mlp_tokens()), body);
  }
  template <class Body>
  void for_tiles(std::int64_t most, Body body) const;
  /// Addresses of gate and up for a tile: in the record, or in scratch that the next tile reuses.
  struct Expanded {
    std::byte *gate, *up;
  };
  [[nodiscard]] Expanded expanded(Tile tile) const;
  void expand(Tile tile);
  void contract(Tile tile, std::byte* next_input);

  /// Rows [begin, begin + count) of the routes, all of one expert.
  struct ExpertTile {
    std::int64_t expert, begin, count;
  };
  /// Counterparts of expand, contract and mlp_backward for a block with a mixture of experts.
  void expand_experts(const Routes& routes);
  void contract_experts(const Routes& routes, std::byte* next_input);
  void experts_backward(float* gradient, std::byte* stream_gradient);
  /// Backward pass of one expert tile: computes the scratch tensors `mixed` and d_share and the
  /// weights' gradients from the residual stream's gradient.
  void expert_tile_backward(Routes& routes, ExpertTile tile, float* gradient,
                            const std::byte* stream_gradient);
  void router_backward(const Routes& routes, float* gradient, std::byte* stream_gradient);
  template <class Body>
  void for_expert_tiles(const Routes& routes, Body body) const;
  [[nodiscard]] Routes chosen_routes() const;
  [[nodiscard]] float* router_logits(std::int64_t token) const;
  /// Adds the router's probabilities, summed over all tokens, to `sums` [experts].
  void add_probabilities(float* sums) const;
  /// Copies the rows of `tensor` ([T, hidden] of the compute type) that belong to the tile's tokens
  /// to `rows`, as fp32.
  void gather(const Routes& routes, ExpertTile tile, const std::byte* tensor, float* rows) const;
  /// Adds `rows`, one for each route of the tile, to the rows of their tokens in the scratch tensor
  /// `mixed`, fp32 [T, hidden].
  void scatter(const Routes& routes, ExpertTile tile, const float* rows) const;
  /// Copies the residual stream of the tile's tokens to the scratch tensor `input`, and writes its
  /// RMSNorm to `normed` and the reciprocal root mean squares to `rstd`.
  void normalize_routes(const Routes& routes, ExpertTile tile);
  /// Computes silu(gate) * up of the tile's routes, rounded to the compute type, into `activation`.
  void activate(ExpertTile tile, float* activation) const;
  /// Multiplies each of the tile's `rows` by the share that the router gives its route.
  void weigh(const Routes& routes, ExpertTile tile, float* rows) const;

  [[nodiscard]] float* scratch(Bytes offset) const;
  /// Address of row `row` of a record tensor with `width` columns of the compute type.
  [[nodiscard]] std::byte* row(Bytes tensor, std::int64_t row, std::int64_t width) const;
  [[nodiscard]] std::byte* row(std::byte* tensor, std::int64_t row, std::int64_t width) const;
  [[nodiscard]] const std::byte* row(const std::byte* tensor, std::int64_t row,
                                     std::int64_t width) const;
  /// fp32 values of `n` elements of the compute type: `data` itself for fp32, else converted into
  /// `copy`.
  [[nodiscard]] const float* values(const std::byte* data, std::int64_t n, float* copy) const;

  [[nodiscard]] WeightMatrix matrix(const Slot& slot) const;
  /// Values, as fp32, of a norm weight or bias, in scratch memory that the next call of `vector`
  /// overwrites.
  const float* vector(const Slot& slot);
  /// Factors, as fp32, by which a norm multiplies; in the same scratch memory.
  const float* norm_weight(const Slot& slot);
  void project(const Projection& projection, const float* x, std::int64_t count, float* y);
  /// Adds the gradients of a projection's matrix and bias to `gradient`.
  void project_backward(const Projection& projection, const float* dy, const float* x,
                        std::int64_t count, float* gradient) const;
  /// Writes the RMSNorm of a tile of a record tensor to the scratch tensor `normed`, and the
  /// reciprocal root mean squares to `rstd`. Returns the tile's values before the norm, as fp32.
  const float* normalize(Bytes tensor, const Slot& weight, Tile tile);

  /// What the norm of q or of k multiplies one head by: nothing where there is no norm.
  struct HeadScales {
    const float* weight = nullptr;  ///< Norm weight of the head, [head_dim].
    const float* rstd = nullptr;    ///< Reciprocal root mean squares, one for every `heads` heads.
    std::int64_t heads = 1;
    /// Reciprocal root mean square for the head with the index `head` among those of all tokens.
    [[nodiscard]] float of(std::int64_t head) const {
      return rstd == nullptr ? 1.0f : rstd[head / heads];
    }
  };
  /// Parameters of head `head`'s norm in a record tensor; `rstd` is where the record has its
  /// reciprocal root mean squares.
  HeadScales head_scales(const Slot& norm, Bytes rstd, std::int64_t head);
  /// Writes the reciprocal root mean squares of a tile of q or k to the record.
  void measure_heads(const Slot& norm, Bytes tensor, Bytes rstd, std::int64_t width,
                     Tile tile) const;
  /// Turns the gradient of all tokens' rotated heads into that of the heads before rotation.
  void unrotate(std::int64_t heads, float* d) const;
  /// Backward pass of q's or k's norm; `d` becomes the gradient of the projection's output.
  void head_norm_backward(const Slot& norm, Bytes tensor, Bytes rstd, std::int64_t width,
                          float* gradient, float* d);

  void load_keys(std::int64_t first_token, std::int64_t kv_head);
  void load_query(std::int64_t token, std::int64_t begin, std::int64_t count, std::int64_t head);
  void keep_keys(const KeptKeys& kept);
  void load_kept(const KeptKeys& kept, std::int64_t kv_head);
  /// Attention of tokens that continue a sequence: adds their keys and values to `kept`, and
  /// computes `attention` from q and all keys and values in `kept`.
  void attend_kept(const KeptKeys& kept);
  void attend_kept_tile(const KeptKeys& kept, std::int64_t head, std::int64_t begin);
  void attend_tile(std::int64_t first_token, std::int64_t head, std::int64_t begin);
  void attend_tile_backward(std::int64_t first_token, std::int64_t head, std::int64_t begin);
  [[nodiscard]] RotaryRow rotary_row(std::int64_t position) const;
  /// First position of the document that contains `position`, in the sequence starting at
  /// `first_token`.
  [[nodiscard]] std::int64_t document_start(std::int64_t first_token, std::int64_t position) const;
  /// First position of the document that contains `position`, where `before` is the first position
  /// of the document that contains position - 1.
  [[nodiscard]] std::int64_t next_start(std::int64_t first_token, std::int64_t position,
                                        std::int64_t before) const;
  /// Fills `starts_`, the first position of each query's document, for queries [begin, begin +
  /// count) of a sequence; must be called before their attention is computed.
  void find_documents(std::int64_t first_token, std::int64_t begin, std::int64_t count);
  /// Position of the first key that query begin + i attends to, as its document and the attention
  /// window allow.
  [[nodiscard]] std::int64_t first_key(std::int64_t begin, std::int64_t i) const;

  const HostTemplates& templates_;
  const planner::Job& job_;
  const planner::ModelShape& shape_;
  const planner::BlockRecord& offsets_;
  const planner::BlockWorkspace& space_;
  const BlockSlots& slots_;
  Weights weights_;
  RecordView record_;
  Workspace workspace_;
  const Elementwise& kernels_;
  const ActivationKernels& activation_;
  const PlainKernels& plain_;
  std::int64_t tokens_;
  std::int64_t element_;  ///< Size of an element of the compute type in bytes.
  float eps_;             ///< Added to the mean square in norms.
  std::int64_t query_width_, key_width_;
  float score_scale_;
  /// First position of the document that each query of the current tile belongs to.
  std::array<std::int64_t, planner::kQueryTile> starts_{};
};

template <class Body>
void BlockRun::for_tiles(std::int64_t most, Body body) const {
  for (std::int64_t begin = 0; begin < tokens_; begin += most) {
    body(Tile{begin, std::min(most, tokens_ - begin)});
  }
}

}  // namespace sluice::engine
