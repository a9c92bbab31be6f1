#include <gtest/gtest.h>

#include "profiler/cupti/absence.hpp"
#include "tests/profiler/cupti/cupti_records.hpp"

namespace sluice::profiler::cupti::test {
namespace {

void expect_line(const Absence& absence, AbsenceReason reason, const std::string& fix) {
  EXPECT_EQ(absence.reason, reason);
  EXPECT_TRUE(contains(absence.line, fix));
  EXPECT_FALSE(contains(absence.line, "\n"));
  EXPECT_TRUE(absence.line.ends_with("CUDA events time the tasks instead")) << absence.line;
}

TEST(Absence, EachCauseHasItsLineAndItsFix) {
  expect_line(absence_of(39, "subscribing", "CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED"),
              AbsenceReason::other_profiler, "without nsys");
  expect_line(absence_of(35, "enabling", "CUPTI_ERROR_INSUFFICIENT_PRIVILEGES"),
              AbsenceReason::no_permission, "NVreg_RestrictProfilingToAdminUsers=0");
  expect_line(absence_of(40, "enabling", "privileges"), AbsenceReason::no_permission, "root");
  expect_line(absence_of(15, "subscribing", "CUPTI_ERROR_NOT_INITIALIZED"),
              AbsenceReason::version_mismatch, "install the driver");
  expect_line(absence_of(14, "enabling", "CUPTI_ERROR_NOT_COMPATIBLE"),
              AbsenceReason::version_mismatch, "driver");
  expect_line(absence_of(43, "enabling", "MIG"), AbsenceReason::device, "no tracing");
  expect_line(absence_of(999, "flushing", "CUPTI_ERROR_UNKNOWN"), AbsenceReason::failed,
              "flushing says CUPTI_ERROR_UNKNOWN");
  expect_line(library_missing("libcupti.so.13"), AbsenceReason::library_missing, "LD_LIBRARY_PATH");
  expect_line(version_mismatch(120800, 130001), AbsenceReason::version_mismatch,
              "version 120800 and this program was built for 130001");
  expect_line(no_driver(), AbsenceReason::no_driver, "install it");
  expect_line(nothing_seen(), AbsenceReason::failed, "no kernel and no copy");
  expect_line(not_built(), AbsenceReason::not_built, "-DSLUICE_CUDA=ON");
}

}  // namespace
}  // namespace sluice::profiler::cupti::test
