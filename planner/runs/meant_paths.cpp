#include "planner/runs/meant_paths.hpp"

#include <array>

namespace sluice::planner {
namespace {

/// A word and the path that is meant by it.
struct Meant {
  const char* word;
  const char* path;
};
constexpr std::array kMeant = {
    Meant{"lr", "optimizer.lr"},
    Meant{"optimizer.learning_rate", "optimizer.lr"},
    Meant{"optimizer.beta1", "optimizer.betas"},
    Meant{"optimizer.beta2", "optimizer.betas"},
    Meant{"optimizer.epsilon", "optimizer.eps"},
    Meant{"optimizer.grad_clip", "optimizer.clip"},
    Meant{"grad_clip", "optimizer.clip"},
    Meant{"warmup", "schedule.warmup_steps"},
    Meant{"schedule.warmup", "schedule.warmup_steps"},
    Meant{"schedule.min_lr_ratio", "schedule.final_fraction"},
    Meant{"min_lr_ratio", "schedule.final_fraction"},
    Meant{"scheduler", "schedule.kind"},
    Meant{"vram", "limits.hbm"},
    Meant{"hbm", "limits.hbm"},
    Meant{"host", "limits.host"},
    Meant{"disk", "limits.disk"},
    Meant{"precision", "compute"},
    Meant{"context_length", "seq_len"},
    Meant{"block_size", "seq_len"},
    Meant{"max_len", "seq_len"},
    Meant{"grad_accum", "gradient_accumulation"},
    Meant{"max_iters", "steps"},
    Meant{"iters", "steps"},
    Meant{"train_file", "data"},
    Meant{"out_dir", "out"},
};

}  // namespace

std::optional<std::string> path_meant_by(const std::string& word) {
  for (const Meant& each : kMeant) {
    if (word == each.word) return each.path;
  }
  return std::nullopt;
}

}  // namespace sluice::planner
