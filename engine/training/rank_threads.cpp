#include "engine/training/rank_threads.hpp"

#include <pthread.h>

#include <csignal>
#include <exception>
#include <string>
#include <thread>

#include "engine/ranks/rank_failure.hpp"

namespace sluice::engine {
namespace {

void leave_signals_to_first() {
  sigset_t all;
  sigfillset(&all);
  pthread_sigmask(SIG_BLOCK, &all, nullptr);
}

/// Whether `error` says that another rank failed.
bool is_of_another_rank(const std::exception_ptr& error) {
  try {
    std::rethrow_exception(error);
  } catch (const RankFailure&) {
    return true;
  } catch (...) {
    return false;
  }
}

}  // namespace

void run_on_ranks(const std::vector<RankLinks>& ranks,
                  const std::function<void(std::size_t)>& body) {
  if (ranks.size() == 1 && ranks.front().control == nullptr) return body(0);
  std::vector<std::exception_ptr> errors(ranks.size());
  const auto run = [&](std::size_t index) {
    try {
      body(index);
    } catch (const std::exception& error) {
      errors[index] = std::current_exception();
      ranks[index].control->fail(error.what());
    } catch (...) {
      errors[index] = std::current_exception();
      ranks[index].control->fail("an error without a message");
    }
  };
  std::vector<std::thread> threads;
  for (std::size_t index = 1; index < ranks.size(); ++index) {
    threads.emplace_back([&run, index] {
      pthread_setname_np(pthread_self(), ("rank-" + std::to_string(index)).c_str());
      leave_signals_to_first();
      run(index);
    });
  }
  run(0);
  for (std::thread& each : threads) each.join();
  std::exception_ptr first;
  for (const std::exception_ptr& error : errors) {
    if (error == nullptr) continue;
    if (first == nullptr) first = error;
    if (!is_of_another_rank(error)) std::rethrow_exception(error);
  }
  if (first != nullptr) std::rethrow_exception(first);
}

}  // namespace sluice::engine
