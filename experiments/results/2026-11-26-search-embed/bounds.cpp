// What a gigabyte less of the device adds to the bounds of a job's numbers of rounds, parts split
// NODES times:
//   bounds MODEL MACHINE HBM NODES [GB...]; HBM: "-" for all of it.
#include <cstdio>
#include <cstdlib>
#include <string>

#include "planner/plan_relaxation.hpp"
#include "planner/proven_bound.hpp"
#include "planner/run_planning.hpp"

int main(int count, char** words) {
  using namespace sluice;
  using namespace sluice::planner;
  RunConfig config;
  config.model = words[1];
  config.machine = words[2];
  config.seq_len = 4096;
  config.batch_size = 16;
  if (std::string(words[3]) != "-") set_path(config, "limits.hbm", words[3]);
  const RunPlanning run = planning_of(config);
  const PlanRelaxation relaxation(run.predictor, run.search.pins);
  for (int i = 5; i < count || i == 5; ++i) {
    const double less = i < count ? std::atof(words[i]) : 0;
    std::printf("%.2f GB less:", less);
    for (const std::int64_t rounds : relaxation.rounds()) {
      RelaxedNode node;
      node.rounds = rounds;
      node.proves = true;
      node.reserve = Bytes(static_cast<std::int64_t>(1e9 * less));
      ProvenBound bound(relaxation, {{node, relaxation.solve(node)}});
      std::printf("  %ld rounds %.4f s", static_cast<long>(rounds),
                  bound.improve(std::atoi(words[4])).count());
    }
    std::printf("\n");
  }
}
