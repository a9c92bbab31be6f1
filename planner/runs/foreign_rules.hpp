// Rules that keys of several programs share: what their values become in a run. All throw
// BadRequest naming the key.
#pragma once

#include <initializer_list>
#include <string>

namespace sluice::planner {

struct RunConfig;

/// Throws unless `value` is one of `known`, saying why.
void require_one_of(const std::string& value, const std::string& key,
                    std::initializer_list<const char*> known, const std::string& why);

/// Sequences of a micro-batch; one of them is a step where nothing else is said of a step.
void set_per_device(RunConfig& run, const std::string& value, const std::string& key);
/// Steps of the run; transformers writes -1 where epochs decide.
void set_max_steps(RunConfig& run, const std::string& value, const std::string& key);
/// AdamW by any of its names; other optimizers are refused with what is nearest.
void set_optimizer(RunConfig& run, const std::string& value, const std::string& key);
/// Whether matrices are multiplied in bf16 ("auto" too) or fp32.
void set_bf16(RunConfig& run, const std::string& value, const std::string& key);
/// Matrices in bf16 where the value says yes; master weights and moments stay at 32 bits.
void set_pure_bf16(RunConfig& run, const std::string& value, const std::string& key);
/// A run's type by the name of torch's: bfloat16, float32, auto.
void set_type(RunConfig& run, const std::string& value, const std::string& key);
/// Sequences of several documents, attention inside each.
void set_packing(RunConfig& run, const std::string& value, const std::string& key);
/// When checkpoints are written: no, steps (save_steps), epoch, best.
void set_save_strategy(RunConfig& run, const std::string& value, const std::string& key);
/// When the run is evaluated: no, steps (eval_steps), epoch.
void set_eval_strategy(RunConfig& run, const std::string& value, const std::string& key);
/// Number of checkpoints that stay; none for all.
void set_total_limit(RunConfig& run, const std::string& value, const std::string& key);
/// Warm-up in steps, or below 1 as a share of the run.
void set_warmup(RunConfig& run, const std::string& value, const std::string& key);
/// Chat template by a name that another program gives it.
void set_chat_template(RunConfig& run, const std::string& value, const std::string& key);
/// Revision of a model: only the one that the cache names main.
void set_revision(RunConfig& run, const std::string& value, const std::string& key);

/// Kind of the schedule by transformers' and axolotl's names.
void set_scheduler(RunConfig& run, const std::string& value, const std::string& key);
/// Settings of the schedule as a map: min_lr, min_lr_rate, lr_end, power, num_cycles, timescale,
/// num_decay_steps, decay_type. Comes after learning rate and kind.
void set_scheduler_settings(RunConfig& run, const std::string& value, const std::string& key);

}  // namespace sluice::planner
