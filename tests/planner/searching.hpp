// Searches that tests make, for small jobs and for models of the catalogue.
#pragma once

#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <variant>

#include "planner/effort/search_settings.hpp"
#include "planner/requests/request.hpp"
#include "planner/search/search.hpp"
#include "tests/planner/round_machine.hpp"

namespace sluice::planner::test {

inline SearchSettings quick(Pins pins = {}) {
  return {.pins = std::move(pins), .effort = 1'600'000, .threads = 2, .exhaustive = 1000};
}

inline Planned planned(const Predictor& predictor, const SearchSettings& settings) {
  auto found = search(predictor, settings);
  EXPECT_TRUE(std::holds_alternative<Planned>(found));
  return std::move(std::get<Planned>(found));
}

/// File with the catalogue's machine `name` as version 0.1.0 had it.
inline std::string recorded_machine(const std::string& name) {
  return std::string(SLUICE_FIXTURES) + "/machines/" + name + ".json";
}

inline RunConfig run_of(const char* model, const std::string& machine, std::int64_t seq_len,
                        std::int64_t batch_size) {
  RunConfig config;
  config.model = model;
  config.machine = machine;
  config.seq_len = seq_len;
  config.batch_size = batch_size;
  return config;
}

/// The run's plan, searched with little effort.
inline Planned planned_quickly(const Request& run, const Pins& pins) {
  return planned(run.predictor, {.pins = pins, .effort = kQuickEffort, .threads = 2});
}

/// HBM in which the plan for `job` that needs least memory just fits.
inline Bytes least_hbm(const Job& job) {
  ResolvedMachine machine = round_machine();
  machine.hbm = Bytes(4096);
  const auto found = search(Predictor(job, machine, {}), quick());
  return at(std::get<Infeasible>(found).memory, Tier::hbm).peak;
}

}  // namespace sluice::planner::test
