// Computation of one transformer block on the host: HostTemplates bound to the weights, the record
// and the scratch of one call.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>

#include "engine/host/delta_conv.hpp"
#include "engine/host/delta_gates.hpp"
#include "engine/host/delta_net.hpp"
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

  void project_qkv();       ///< Computes q, k and v, and gates, from x.
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
  void attention_backward(float* gradient);
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
  /// Computes the MLP's output of a tile into the scratch tensor `normed`.
  void contract(Tile tile);
  /// Computes the MLP's output of a tile into the record, if a norm's backward pass reads it.
  void keep_contraction(Tile tile);

  /// Where a sublayer's output goes on its way to the residual stream.
  struct Branch {
    Bytes output;      ///< Record tensor of the output, where a norm follows.
    const Slot& norm;  ///< The norm behind the sublayer, if there is one.
  };
  [[nodiscard]] Branch attention_branch() const {
    return {offsets_.attention_output, slots_.norm_after_attention};
  }
  [[nodiscard]] Branch mlp_branch() const { return {offsets_.mlp_output, slots_.norm_after_mlp}; }
  /// Writes a tile of a sublayer's output to the record, where a norm follows.
  void keep_branch(const Branch& branch, Tile tile, const float* output) const;
  /// Adds a tile of a sublayer's `output`, fp32 [count, hidden], to the record tensor `stream`, and
  /// writes the sum to `next` [T, hidden]. `output` and `normed` are scratch.
  void join(const Branch& branch, Tile tile, float* output, float* normed, Bytes stream,
            std::byte* next);
  /// Turns `rows` rows of the residual stream's gradient into the gradient of what joined it.
  void scale_branch(float* d, std::int64_t rows) const;
  /// Gradient of a tile of a sublayer's output, given `dy`, that of the residual stream: `dy`
  /// itself or scratch. Adds the gradient of the norm behind the sublayer.
  const float* branch_gradient(const Branch& branch, Tile tile, const float* dy, float* gradient);

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
  /// Adds a bias of the experts' last product to `rows`, each time with the route's share.
  void add_weighed_bias(const Routes& routes, ExpertTile tile, const Slot& bias, float* rows);
  /// Backward pass of add_weighed_bias; `dy`: gradient of the rows.
  void bias_backward(Routes& routes, ExpertTile tile, const Slot& bias, const float* dy,
                     float* gradient);
  void router_backward(const Routes& routes, float* gradient, std::byte* stream_gradient);
  /// Counterparts of expand, contract and mlp_backward for the expert that all tokens pass through.
  /// contract_shared adds its output to the scratch tensor `mixed`, and shared_backward the
  /// gradient of the normed residual stream.
  void expand_shared();
  void contract_shared();
  void shared_backward(float* gradient, const std::byte* stream_gradient);
  [[nodiscard]] Expanded shared_rows(Tile tile) const;
  /// Writes the factor of each of the tile's tokens for that expert to `shares`, from `normed`.
  void switch_shares(Tile tile, float* shares);
  /// Multiplies each of the tile's `rows` by its token's factor.
  void weigh_shared(const float* shares, Tile tile, float* rows) const;
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
  /// Computes the activation of the tile's routes, rounded to the compute type, into `activation`.
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
  /// Gradient of a projection's input: dx [count, cols] = or += dy [count, rows] times its matrix.
  void project_back(const Projection& projection, const float* dy, std::int64_t count, Into into,
                    float* dx) const;
  /// Writes the RMSNorm of a tile of a record tensor to the scratch tensor `normed`, and the
  /// reciprocal root mean squares to `rstd`; copies the tile where there is no norm. Returns the
  /// tile's values before the norm, as fp32.
  const float* normalize(Bytes tensor, const Slot& weight, Tile tile);
  /// Backward pass of `normalize`, which returned `x`. The tile's gradient of the residual stream
  /// is given in `dy`; `stream` receives that of the stream before the sublayer.
  void norm_backward(const float* d_normed, const float* x, const Slot& weight, Tile tile,
                     const float* dy, float* gradient, std::byte* stream);

  /// Factors by which the norm of q or of k multiplies one head; null where there is no norm.
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
  /// Number of elements of q or k that are normed together; 0 where they are not normed.
  [[nodiscard]] std::int64_t normed_together(const Slot& norm) const;
  /// Factors of q's or k's norm, which are ones where it has no weight; in `vector`'s memory.
  const float* head_norm_weight(const Slot& norm);
  /// Writes the reciprocal root mean squares of a tile of q or k to the record.
  void measure_heads(const Slot& norm, Bytes tensor, Bytes rstd, std::int64_t width,
                     Tile tile) const;
  /// Turns the gradient of all tokens' rotated heads into that of the heads before rotation.
  void unrotate(std::int64_t heads, float* d) const;
  /// Backward pass of q's or k's norm; `d` becomes the gradient of the projection's output.
  void head_norm_backward(const Slot& norm, Bytes tensor, Bytes rstd, std::int64_t width,
                          float* gradient, float* d);

  /// Sigmoids of a tile's gates on attention's output, in the scratch tensor `wide`.
  [[nodiscard]] float* gate_shares(Tile tile) const;
  /// A tile of the o projection's input: attention, times the sigmoids of its gates if it has any.
  [[nodiscard]] const float* gated_attention(Tile tile);
  /// Turns d_query of a tile from the gradient of gated attention into that of attention, and
  /// computes the gates' gradient.
  void attention_gate_backward(Tile tile, float* gradient);

  /// Counterparts of attend, attention_backward and attend_kept for a gated delta net, whose output
  /// is the record's `attention`.
  void mix();
  void mix_backward(float* gradient);
  void mix_kept(const KeptKeys& kept);
  /// Counterparts of gated_attention and attention_gate_backward for a gated delta net.
  const float* normed_mix(Tile tile);
  void normed_mix_backward(Tile tile, float* gradient);
  /// Documents of the sequence that begins at `first_token`; in scratch memory.
  [[nodiscard]] DocumentBounds document_bounds(std::int64_t first_token) const;
  /// Copies q, k and v of `count` tokens from `first_token` on to the scratch tensor `inputs`, and
  /// what their rates and decays are made of to `beta` and `decay`.
  void load_mixer(std::int64_t first_token, std::int64_t count) const;
  /// Loads the sequence that begins at `first_token`, and returns what the delta rule reads of it:
  /// convolved inputs, decays and rates, in the scratch.
  [[nodiscard]] DeltaInputs mixer_inputs(std::int64_t first_token, DocumentBounds bounds) const;
  /// Writes the convolution's weights and the parameters of decays to scratch memory.
  void load_mixer_weights() const;
  [[nodiscard]] DeltaDecay delta_decay() const;

  /// Counterparts of project_qkv, rotary_backward and qkv_backward for latent attention.
  void project_latent();
  void latent_rotary_backward();
  void latent_backward(float* gradient, std::byte* stream_gradient);
  /// A narrow projection of latent attention with the norm behind it.
  struct Narrow {
    const Projection& projection;
    const Slot& norm;
    Bytes tensor;  ///< Record tensor of the projection.
    [[nodiscard]] std::int64_t width() const { return norm.size(); }
  };
  [[nodiscard]] Narrow narrow_query() const {
    return {slots_.latent.query, slots_.latent.query_norm, offsets_.q_latent};
  }
  [[nodiscard]] Narrow narrow_key() const {
    return {slots_.latent.key, slots_.latent.key_norm, offsets_.kv_latent};
  }
  /// Writes the norm of a tile of a narrow projection to the latent scratch `normed`; returns what
  /// it was before the norm, as fp32.
  const float* normalize_narrow(const Narrow& narrow, Tile tile);
  /// Turns the gradient of the norm of a narrow projection, in the latent scratch `d_normed`, into
  /// that of the projection, in `d`; `x` is what normalize_narrow returned.
  void narrow_backward(const Narrow& narrow, Tile tile, const float* x, float* gradient, float* d);
  /// Adds the gradients of a projection from `x`, whose output has the gradient `dy`, and writes or
  /// adds the gradient of x.
  void product_backward(const Projection& projection, const float* dy, const float* x, Tile tile,
                        float* gradient, Into into, float* dx);
  /// Writes a rotated key, [head_dim], of the token `token` at `position` of its document.
  void load_key(std::int64_t token, std::int64_t kv_head, std::int64_t position,
                const HeadScales& scales, float* key) const;

  /// Gradient of the mixer's output, [T, columns of the o projection].
  [[nodiscard]] float* d_attention() const;
  void load_keys(std::int64_t first_token, std::int64_t kv_head);
  void load_query(std::int64_t token, std::int64_t begin, std::int64_t count, std::int64_t head);
  /// Kept values of a sequence, which lie behind its keys.
  [[nodiscard]] std::byte* kept_values(const KeptKeys& kept) const;
  void keep_keys(const KeptKeys& kept);
  void load_kept(const KeptKeys& kept, std::int64_t kv_head);
  /// Attention of tokens that continue a sequence: adds their keys and values to `kept`, and
  /// computes `attention` from q and all keys and values in `kept`.
  void attend_kept(const KeptKeys& kept);
  void attend_kept_tile(const KeptKeys& kept, std::int64_t head, std::int64_t begin);
  void attend_tile(std::int64_t first_token, std::int64_t head, std::int64_t begin);
  void attend_tile_backward(std::int64_t first_token, std::int64_t head, std::int64_t begin,
                            float* gradient);
  /// Puts the model's bound, if it has one, on scores that are not scaled yet.
  void bound(float* scores, std::int64_t n) const;
  /// Factor by which the softmax multiplies scores, which a bound leaves scaled.
  [[nodiscard]] float softmax_scale() const;
  [[nodiscard]] float sink(std::int64_t head) const;
  /// Log-sum-exp of a query's scores together with the head's sink, if there is one; remembers the
  /// share of the keys for `leave_sink`.
  float join_sink(float lse, std::int64_t head, std::int64_t query);
  /// Multiplies a query's output, [head_dim], by the share of the keys.
  void leave_sink(float* output, std::int64_t query) const;
  /// Adds the sink's gradient of one query, whose log-sum-exp is `lse`.
  void sink_backward(std::int64_t head, float lse, float delta, float* gradient) const;
  [[nodiscard]] RotaryRow rotary_row(std::int64_t position) const;
  /// Multiplies `count` rotated queries, or their gradients, each `stride` elements behind the one
  /// before, by the factors that grow with their positions; the first is position `begin` of its
  /// sequence. Does nothing in models without such factors.
  void grow_queries(std::int64_t begin, std::int64_t count, float* rows, std::int64_t stride) const;
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

  const planner::Job& job_;
  const LayerTemplate& layer_;
  const planner::ModelShape& shape_;  ///< The model whose layers are all of this layer's kind.
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
  bool fp8_;                  ///< Whether products have FP8 operands.
  std::int64_t element_;      ///< Size of an element of the compute type in bytes.
  float eps_;                 ///< Added to the mean square in norms.
  std::int64_t query_width_;  ///< Number of columns of the o projection.
  std::int64_t value_dim_;    ///< Elements of a head of v.
  std::int64_t key_width_, value_width_;
  float score_scale_, residual_factor_;
  /// First position of the document that each query of the current tile belongs to.
  std::array<std::int64_t, planner::kQueryTile> starts_{};
  /// Share of the softmax that each query of the current tile gives its keys, beside a sink.
  std::array<float, planner::kQueryTile> shares_{};
};

template <class Body>
void BlockRun::for_expert_tiles(const Routes& routes, Body body) const {
  for (std::int64_t expert = 0; expert < routes.experts(); ++expert) {
    const std::int64_t end = routes.first_row(expert) + routes.rows(expert);
    for (std::int64_t begin = routes.first_row(expert); begin < end; begin += planner::kTokenTile) {
      body(ExpertTile{expert, begin, std::min(planner::kTokenTile, end - begin)});
    }
  }
}

template <class Body>
void BlockRun::for_tiles(std::int64_t most, Body body) const {
  for (std::int64_t begin = 0; begin < tokens_; begin += most) {
    body(Tile{begin, std::min(most, tokens_ - begin)});
  }
}

}  // namespace sluice::engine
