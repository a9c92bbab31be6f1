#include "planner/costs/cost_key.hpp"

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <string_view>
#include <utility>

#include "planner/models/unit_classes.hpp"

namespace sluice::planner {
namespace {

struct PassName {
  Pass pass;
  const char* name;
  UnitKind unit;  ///< Kind of the units that the pass is over; embed where it has several.
};
constexpr std::array kPassNames{
    PassName{Pass::embed_forward, "forward/embed", UnitKind::embed},
    PassName{Pass::block_forward, "forward/block", UnitKind::block},
    PassName{Pass::block_route, "forward/route", UnitKind::block},
    PassName{Pass::block_experts, "forward/experts", UnitKind::block},
    PassName{Pass::loss, "loss/head", UnitKind::head},
    PassName{Pass::head_forward, "forward/head", UnitKind::head},
    PassName{Pass::block_recompute_input, "recompute/input", UnitKind::block},
    PassName{Pass::block_recompute_selective, "recompute/selective", UnitKind::block},
    PassName{Pass::block_recompute_attention, "recompute/attention", UnitKind::block},
    PassName{Pass::block_recompute_kv, "recompute/kv", UnitKind::block},
    PassName{Pass::block_backward, "backward/block", UnitKind::block},
    PassName{Pass::embed_backward, "backward/embed", UnitKind::embed},
    PassName{Pass::combine, "combine/embed", UnitKind::embed},
    PassName{Pass::sum_groups, "sum_groups", UnitKind::embed},
    PassName{Pass::sum_ranks, "sum_ranks", UnitKind::embed},
    PassName{Pass::norm, "norm", UnitKind::embed},
    PassName{Pass::block_update, "update/muon", UnitKind::block},
    PassName{Pass::sum_norms, "sum_norms", UnitKind::embed},
};

const char* name_of(Pass pass) {
  const auto* found = std::ranges::find(kPassNames, pass, &PassName::pass);
  return found == kPassNames.end() ? "" : found->name;
}

constexpr std::array kUnitNames{std::pair{UnitKind::embed, "embed"},
                                std::pair{UnitKind::block, "block"},
                                std::pair{UnitKind::head, "head"}};

const char* name_of(Collective operation) {
  switch (operation) {
    case Collective::gather:
      return "gather";
    case Collective::exchange:
      return "exchange";
    case Collective::exchange_inside:
      return "exchange-inside";
    case Collective::exchange_between:
      return "exchange-between";
  }
  return "?";
}

const char* name_of(UnitKind unit) {
  const auto* found = std::ranges::find(kUnitNames, unit, &std::pair<UnitKind, const char*>::first);
  return found == kUnitNames.end() ? "" : found->second;
}

CostKind kind_of(CopyDirection direction) {
  switch (direction) {
    case CopyDirection::h2d:
      return CostKind::copy_h2d;
    case CopyDirection::d2h:
      return CostKind::copy_d2h;
    case CopyDirection::disk_read:
      return CostKind::copy_disk_read;
    case CopyDirection::disk_write:
      break;
  }
  return CostKind::copy_disk_write;
}

std::string state_suffix(const Job& job) {
  if (job.optimizer.state == StateType::fp32) return "";
  return std::string(".s") + to_string(job.optimizer.state);
}

/// What blocks compute beside the blocks of llama and qwen3, where that takes time of its own.
std::string block_signature(const ModelShape& m) {
  std::string text;
  const NormSlots usual;
  if (m.norms.before_attention != usual.before_attention ||
      m.norms.after_attention != usual.after_attention || m.norms.before_mlp != usual.before_mlp ||
      m.norms.after_mlp != usual.after_mlp) {
    text += ".n";
    for (const bool norm : {m.norms.before_attention, m.norms.after_attention, m.norms.before_mlp,
                            m.norms.after_mlp}) {
      text += norm ? '1' : '0';
    }
  }
  if (m.head_norm == HeadNorm::full_width) text += ".qkf";
  if (m.head_norm == HeadNorm::per_head_weightless) text += ".qkw";
  if (m.activation != Activation::silu) text += std::string(".") + to_string(m.activation);
  if (m.attention_gate) text += ".gate";
  if (m.attention_sinks) text += ".sinks";
  if (m.scales.attention_softcap) text += ".cap";
  const LayerKind& kind = m.kinds.front();
  if (!kind.rotary) text += ".nope";
  if (is_linear(kind)) {
    const DeltaNet& net = *m.delta_net;
    text += std::string(".") + to_string(kind.mixer) + std::to_string(net.key_heads) + "." +
            std::to_string(net.value_heads) + "." + std::to_string(net.key_dim) + "." +
            std::to_string(net.value_dim);
  }
  if (const auto& latent = m.latent) {
    text += ".latent" + std::to_string(latent->query_rank.value_or(0)) + "." +
            std::to_string(latent->rank) + "." + std::to_string(latent->rotated) + "." +
            std::to_string(latent->value);
  }
  if (m.value_norm) text += ".vn";
  if (kind.values_are_keys) text += ".kv";
  if (const RotaryTable* table = rotary_table(m, kind); table != nullptr && table->rotated) {
    text += ".r" + std::to_string(*table->rotated);
  }
  if (m.experts && m.experts->shared_intermediate > 0) {
    text += ".shared" + std::to_string(m.experts->shared_intermediate);
  }
  return text;
}

/// Sizes of a job on which compute costs depend, as text that job_named_by parses.
std::string cost_signature(const Job& job) {
  const ModelShape& m = job.model;
  std::string text = "|h" + std::to_string(m.hidden) + ".i" + std::to_string(m.intermediate) +
                     ".a" + std::to_string(m.heads) + "." + std::to_string(m.kv_heads) + "." +
                     std::to_string(m.head_dim) + ".v" + std::to_string(m.vocab);
  if (m.qkv_bias) text += ".qkvb";
  if (m.o_bias) text += ".ob";
  if (m.mlp_bias) text += ".mb";
  if (m.head_norm == HeadNorm::per_head) text += ".qkn";
  if (m.tied_head) text += ".tied";
  if (m.experts) {
    text += ".e" + std::to_string(m.experts->count) + "." + std::to_string(m.experts->active) +
            "." + std::to_string(m.experts->intermediate);
  }
  if (const auto window = m.kinds.front().window) text += ".w" + std::to_string(*window);
  return text + block_signature(m) + "|s" + std::to_string(job.seq_len) + ".b" +
         std::to_string(job.micro_batch) + ".c" + std::to_string(job.loss_chunk) + "." +
         to_string(job.compute) +
         (is_fp8(job.compute) ? ".n" + std::to_string(job.micro_batches()) : "") +
         (job.gradient_wire == GradientWire::bf16 ? ".gbf16" : "") +
         (job.chunks_mlp() ? ".m" + std::to_string(job.mlp_chunk) : "") +
         (job.sequence_chunk ? ".q" + std::to_string(*job.sequence_chunk) : "") +
         (job.operators == Operators::eager ? ".eager" : "") +
         (job.attention_library != AttentionLibrary::cudnn
              ? std::string(".") + to_string(job.attention_library)
              : "") +
         state_suffix(job);
}

}  // namespace

bool per_unit_kind(Pass pass) { return pass == Pass::norm || pass == Pass::sum_groups; }

CostKey compute_key(const Job& job, Pass pass, std::size_t unit, std::int64_t position) {
  std::string name = name_of(pass);
  if (per_unit_kind(pass)) name += std::string("/") + name_of(unit_at(job.model, unit).kind);
  if (pass == Pass::block_update) {
    const std::int64_t usual = MuonSettings().ns_steps, steps = job.optimizer.muon.ns_steps;
    if (steps != usual) name += "/ns" + std::to_string(steps);
  }
  if (position > 0) name += "/p" + std::to_string(position);
  const bool uniform = job.model.kinds.size() == 1;
  return CostKey{name + cost_signature(uniform ? job : uniform_job(job, unit))};
}

CostKey copy_key(CopyDirection direction, Bytes bytes) {
  return CostKey(kind_of(direction), "/" + std::to_string(bytes.count()));
}

CostKey cpu_update_key(const Job& job, std::int64_t threads, std::int64_t parameters) {
  return CostKey(CostKind::cpu_update,
                 "/t" + std::to_string(threads) + "/" + std::to_string(parameters) +
                     (job.gradient_wire == GradientWire::bf16 ? "/gbf16" : "") + state_suffix(job));
}

CostKey device_update_key(const Job& job, std::int64_t parameters) {
  return CostKey(CostKind::device_update,
                 "/" + std::to_string(parameters) +
                     (job.gradient_wire == GradientWire::bf16 ? "/gbf16" : "") + state_suffix(job));
}

CostKey collective_key(Collective operation, std::int64_t ranks, Bytes bytes) {
  return CostKey(CostKind::collective, std::string(name_of(operation)) + "/" +
                                           std::to_string(ranks) + "/" +
                                           std::to_string(bytes.count()));
}

CostKey slice_key(const Job& job, Pass pass, std::int64_t ranks, std::int64_t parameters) {
  return CostKey{std::string(name_of(pass)) + "/ranks" + std::to_string(ranks) + "/" +
                 std::to_string(parameters) +
                 (job.gradient_wire == GradientWire::bf16 ? "/gbf16" : "")};
}

std::optional<Job> job_named_by(const CostKey& cost, const Job& like) {
  const std::string& key = cost.name();
  long long hidden, intermediate, heads, kv_heads, head_dim, vocab, length, batch, chunk;
  int end = 0;
  const auto first = key.find('|');
  if (first == key.npos ||
      std::sscanf(key.c_str() + first, "|h%lld.i%lld.a%lld.%lld.%lld.v%lld%n", &hidden,
                  &intermediate, &heads, &kv_heads, &head_dim, &vocab, &end) != 6) {
    return std::nullopt;
  }
  const std::size_t flags = first + static_cast<std::size_t>(end);
  const auto second = key.find('|', flags);
  if (second == key.npos ||
      std::sscanf(key.c_str() + second, "|s%lld.b%lld.c%lld", &length, &batch, &chunk) != 3) {
    return std::nullopt;
  }
  const std::string_view named(key.data() + flags, second - flags);
  Job job = like;
  job.model.hidden = hidden;
  job.model.intermediate = intermediate;
  job.model.heads = heads;
  job.model.kv_heads = kv_heads;
  job.model.head_dim = head_dim;
  job.model.vocab = vocab;
  job.model.qkv_bias = named.find(".qkvb") != named.npos;
  job.model.head_norm = named.find(".qkn") != named.npos ? HeadNorm::per_head : HeadNorm::none;
  job.model.tied_head = named.find(".tied") != named.npos;
  job.seq_len = length;
  job.micro_batch = batch;
  job.loss_chunk = chunk;
  const auto chunked = key.find(".m", second);
  job.mlp_chunk = chunked == key.npos ? job.micro_tokens() : std::atoll(key.c_str() + chunked + 2);
  return job;
}

std::optional<NamedPass> pass_named_by(const CostKey& cost) {
  const std::string_view name = std::string_view(cost.name()).substr(0, cost.name().find('|'));
  for (const PassName& pass : kPassNames) {
    if (!per_unit_kind(pass.pass)) {
      if (name == pass.name) return NamedPass{pass.pass, pass.unit};
      continue;
    }
    for (const auto& [unit, unit_name] : kUnitNames) {
      if (name == std::string(pass.name) + "/" + unit_name) return NamedPass{pass.pass, unit};
    }
  }
  return std::nullopt;
}

}  // namespace sluice::planner
