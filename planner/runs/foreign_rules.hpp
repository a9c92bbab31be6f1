// Rules that keys of several programs share: what their values become in a run. All throw
// BadRequest naming the key.
#pragma once

#include <initializer_list>
#include <string>

namespace sluice::planner {

struct RunConfig;

/// Throws BadRequest, with `why`, unless `value` is one of `known`.
void require_one_of(const std::string& value, const std::string& key,
                    std::initializer_list<const char*> known, const std::string& why);

/// Sets micro_batch, the sequences of a micro-batch. Where the run states neither batch_size nor
/// gradient_accumulation, a step is one micro-batch.
void set_per_device(RunConfig& run, const std::string& value, const std::string& key);
/// Sets the run's steps; nothing for a value of 0 or below, which transformers writes where epochs
/// decide.
void set_max_steps(RunConfig& run, const std::string& value, const std::string& key);
/// Accepts AdamW by any of its names, with a note where its state is kept differently here; refuses
/// other optimizers, naming the nearest name of AdamW.
void set_optimizer(RunConfig& run, const std::string& value, const std::string& key);
/// Sets the type of the run's matrix products: bf16 for yes, "auto" or "full", fp32 for no.
void set_bf16(RunConfig& run, const std::string& value, const std::string& key);
/// Sets bf16 matrix products where the value says yes, with a note that master weights and moments
/// stay at 32 bits; nothing for no.
void set_pure_bf16(RunConfig& run, const std::string& value, const std::string& key);
/// Sets the type of the run's matrix products by torch's name: bfloat16 or float32; nothing for
/// auto.
void set_type(RunConfig& run, const std::string& value, const std::string& key);
/// Sets whether a sequence holds several whole documents, with attention inside each
/// (Packing::documents), or one (Packing::off).
void set_packing(RunConfig& run, const std::string& value, const std::string& key);
/// Sets when checkpoints are written: no (at the end alone), steps (as save_steps says), epoch, or
/// best (keep the best one, too).
void set_save_strategy(RunConfig& run, const std::string& value, const std::string& key);
/// Sets when the run is evaluated: no (at its start and end alone), steps (as eval_steps says), or
/// epoch.
void set_eval_strategy(RunConfig& run, const std::string& value, const std::string& key);
/// Sets how many of the newest checkpoints stay; all of them for no value or one of 0 or below.
void set_total_limit(RunConfig& run, const std::string& value, const std::string& key);
/// Sets the schedule's warm-up: in steps or, for a value between 0 and 1, as a share of the run's
/// steps.
void set_warmup(RunConfig& run, const std::string& value, const std::string& key);
/// Sets the chat template by the name that another program gives it; the model folder's own for
/// "tokenizer_default".
void set_chat_template(RunConfig& run, const std::string& value, const std::string& key);
/// Refuses every revision of a model but main, the one that the local cache uses.
void set_revision(RunConfig& run, const std::string& value, const std::string& key);

/// Sets the kind of the learning-rate schedule by its name in transformers or axolotl.
void set_scheduler(RunConfig& run, const std::string& value, const std::string& key);
/// Sets settings of the schedule from a map: min_lr, min_lr_rate, lr_end, power, num_cycles,
/// timescale, num_decay_steps, decay_type. Learning rate and kind must be set already.
void set_scheduler_settings(RunConfig& run, const std::string& value, const std::string& key);

}  // namespace sluice::planner
