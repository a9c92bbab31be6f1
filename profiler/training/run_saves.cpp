#include "profiler/training/run_saves.hpp"

#include <string>
#include <utility>

#include "engine/model_files/model_config.hpp"
#include "planner/policies/run_job.hpp"
#include "sim/warning.hpp"

namespace sluice::profiler {

RunSaves::RunSaves(TrainedRun& run, const TrainParts& parts, StepFollower& follower,
                   engine::Session& session)
    : run_(run), parts_(parts), follower_(follower) {
  engine::SavingOptions options{
      .config = engine::model_config_text(planner::model_place(run.config)),
      .kept = {.last = run.config.keep_last, .best = run.config.keep_best},
      .background = run.saving.background(),
      .links = parts.links()};
  options.progress = [this](std::int64_t, std::int64_t done, std::int64_t all) {
    if (show_) show_(done, all);
  };
  saving_ = std::make_unique<engine::Saving>(parts.folder, run.job.model, session.state(),
                                             std::move(options));
}

void RunSaves::save(engine::Session& session, std::optional<double> loss) {
  shown(!run_.saving.background(), [&] { saving_->save(facts(session, loss), session.state()); });
  tell();
}

void RunSaves::save_last(engine::Session& session, std::optional<double> loss) {
  const std::int64_t step = session.steps_done();
  last_ = step;
  const auto older =
      run_.result.interrupted ? engine::Saving::Older::given_up : engine::Saving::Older::finished;
  shown(true, [&] { saving_->save_now(facts(session, loss), session.state(), older); });
  tell();
  if (saving_->last_step() == step) {
    run_.checkpoint = parts_.folder.checkpoints() / engine::checkpoint_name(step);
  }
}

void RunSaves::tell() {
  for (const engine::SaveReport& report : saving_->ended()) {
    if (report.step != last_) {
      ++(report.folder ? run_.saves.whole : run_.saves.failed);
      run_.saves.stalls.push_back(report.stall);
    }
    const std::string& what = report.folder ? report.warning : report.failure;
    if (what.empty()) continue;
    follower_.gives_way();
    const std::string step = std::to_string(report.step);
    sim::warn((report.folder ? "after the checkpoint of step " + step
                             : "the checkpoint of step " + step + " was not written") +
              ": " + what);
  }
}

std::optional<std::int64_t> RunSaves::last_step() {
  saving_->finish();
  tell();
  if (saving_->last_step()) return saving_->last_step();
  return parts_.start.checkpoint ? std::optional(parts_.start.step()) : std::nullopt;
}

engine::CheckpointFacts RunSaves::facts(const engine::Session& session,
                                        std::optional<double> loss) const {
  return facts_of(parts_.start, parts_.identity, session.steps_done(), loss);
}

void RunSaves::shown(bool told, const std::function<void()>& work) {
  if (told) show_ = parts_.observer.amount("writing the checkpoint");
  work();
  show_ = nullptr;
}

}  // namespace sluice::profiler
