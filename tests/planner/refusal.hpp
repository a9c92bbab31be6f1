// Helper for tests that something is refused, and with which words.
#pragma once

#include <gtest/gtest.h>

#include <string>

#include "sim/error.hpp"

namespace sluice::planner {

/// The message of the BadRequest that `action` throws.
template <class Action>
std::string refusal(Action&& action) {
  try {
    action();
  } catch (const BadRequest& error) {
    EXPECT_EQ(std::string(error.what()).find('\n'), std::string::npos) << "one line";
    return error.what();
  }
  ADD_FAILURE() << "was accepted";
  return {};
}

#define EXPECT_REFUSED(action, part)                                        \
  EXPECT_NE(refusal([&] { (void)(action); }).find(part), std::string::npos) \
      << refusal([&] { (void)(action); })

}  // namespace sluice::planner
