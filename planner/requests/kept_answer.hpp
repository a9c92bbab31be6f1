// Whole answers of advice, kept in the user's store so that asking the same again is answered at
// once.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "planner/catalogue/store.hpp"
#include "planner/requests/request.hpp"
#include "planner/runs/run_config.hpp"

namespace sluice::planner {

/// Hash of all that an answer depends on: the words of the question, the program, the run's job,
/// the profiles of `machines`, the contents of `files`, and the
/// calibrations of the store. None where the program was built from changed sources, or where
/// something cannot be read, so that nothing is kept.
[[nodiscard]] std::optional<std::string> answer_key(const std::vector<std::string>& words,
                                                    const RunConfig& run,
                                                    const std::vector<std::string>& machines,
                                                    const std::vector<std::filesystem::path>& files,
                                                    const Store& store);

/// Hash of all that an answer on one run depends on: the words of the question, the program, the
/// contents of `files`, and all that a search of the run does (search_key). None where nothing is
/// to be kept.
[[nodiscard]] std::optional<std::string> run_answer_key(
    const std::vector<std::string>& words, const Request& run,
    const std::vector<std::filesystem::path>& files);

/// The answer kept under `key`; none where there is none.
[[nodiscard]] std::optional<std::string> kept_answer(const Store& store, const std::string& key);
/// Keeps the answer in the store's folder advice/, unless the store cannot be written to.
void keep_answer(const Store& store, const std::string& key, const std::string& answer);

}  // namespace sluice::planner
