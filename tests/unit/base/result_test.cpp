#include "platform/base/result.h"

#include <set>
#include <string>
#include <type_traits>

#include <gtest/gtest.h>

namespace millrace::base::result_test {
namespace {

TEST(Result, EveryCodeFindsItsOwnRow) {
  for (int i = 0; i < kCodes; ++i) EXPECT_EQ(info(static_cast<Code>(i)).code, static_cast<Code>(i));
}

TEST(Result, ANameLeadsBackToItsCode) {
  for (int i = 0; i < kCodes; ++i) {
    const Code code = static_cast<Code>(i);
    if (code == Code::kKeyInvalid) continue;  // has the same name as a missing key
    if (code == Code::kQuotaFull) continue;   // has the same name as kQuotaExceeded
    EXPECT_EQ(code_named(name(code)), code) << name(code);
  }
}

TEST(Result, AnUnknownNameIsAnInternalError) { EXPECT_EQ(code_named("no_such_name"), Code::kInternal); }

TEST(Result, EveryMachineShapedStatusHasAMachineNameAndNoOtherHas) {
  const std::set<int> machine_shaped{401, 403, 409, 429, 503};
  for (int i = 0; i < kCodes; ++i) {
    const CodeInfo& row = info(static_cast<Code>(i));
    EXPECT_EQ(!row.machine_name.empty(), machine_shaped.contains(row.http_status)) << row.name;
  }
}

TEST(Result, AClientErrorOtherThanTimeoutAndRateIsPermanent) {
  for (int i = 0; i < kCodes; ++i) {
    const CodeInfo& row = info(static_cast<Code>(i));
    const bool may_pass_later = row.http_status == 408 || row.http_status == 429 || row.http_status >= 500;
    if (may_pass_later) continue;
    EXPECT_EQ(row.retry, RetryClass::kPermanent) << row.name;
  }
}

TEST(Result, AFailureThatARetryCannotHelpIsPermanent) {
  for (Code code : {Code::kPoisonJob, Code::kWorkerLost, Code::kJobExpired, Code::kCommandFailed,
                    Code::kExecutionTimedOut, Code::kExecutionPrepareFailed, Code::kHostAgentFailed}) {
    EXPECT_EQ(info(code).retry, RetryClass::kPermanent) << name(code);
  }
}

TEST(Result, WhatLastsIsPermanentWhateverItsCodesClass) {
  for (const Code code : {Code::kUpstream, Code::kQuota, Code::kDocumentDamaged}) {
    Error refusal = error(code, "no");
    EXPECT_EQ(retry_class(refusal), info(code).retry);
    refusal.is_permanent = true;
    EXPECT_EQ(retry_class(refusal), RetryClass::kPermanent);
  }
}

struct StatusRow {
  Code code;
  int status;
  std::string_view name;
};

TEST(Result, StatusesAndNamesAreThoseOfTheContract) {
  const StatusRow rows[] = {
      {Code::kKeyInvalid, 401, "invalid_api_key"},
      {Code::kForbidden, 403, "permission_denied"},
      {Code::kModelNotFound, 404, "model_not_found"},
      {Code::kResultExpired, 404, "result_expired"},
      {Code::kRateLimited, 429, "rate_limit_exceeded"},
      {Code::kInternal, 500, "server_error"},
      {Code::kUpstream, 502, "upstream_error"},
      {Code::kOverloaded, 503, "overloaded"},
      {Code::kJobExpired, 504, "job_expired"},
      {Code::kDocumentTooLarge, 413, "document_too_large"},
      {Code::kFetchFailed, 502, "fetch_failed"},
      {Code::kFetchRefused, 422, "fetch_refused"},
      {Code::kImageTooLarge, 422, "image_too_large"},
      {Code::kPoisonJob, 500, "poison_job"},
      {Code::kWorkerLost, 500, "worker_lost"},
      {Code::kMachineNotFound, 404, "machine_not_found"},
      {Code::kHostAgentFailed, 500, "host_agent_execute_failed"},
      {Code::kExecutionTimedOut, 504, "execution_timed_out"},
      {Code::kExecutionPrepareFailed, 500, "execution_runner_prepare_failed"},
  };
  for (const StatusRow& row : rows) {
    EXPECT_EQ(info(row.code).http_status, row.status) << row.name;
    EXPECT_EQ(name(row.code), row.name);
  }
}

Result<int> half(int n) {
  if (n % 2 != 0) return error(Code::kInvalidField, "odd", "n");
  return n / 2;
}

TEST(Result, HoldsAValueOrAnError) {
  EXPECT_EQ(half(8).value(), 4);
  const auto odd = half(7);
  ASSERT_FALSE(odd);
  EXPECT_EQ(odd.error().code, Code::kInvalidField);
  EXPECT_EQ(odd.error().param, "n");
}

TEST(Result, ACopyOfAFailedBooleanStaysFailed) {
  Result<bool> failed = error(Code::kInternal, "no");
  Result<bool> copy = failed;
  EXPECT_FALSE(copy.has_value());
}

TEST(Result, AStatusIsFineUntilAnErrorIsGiven) {
  EXPECT_TRUE(Status().has_value());
  EXPECT_FALSE(Status(error(Code::kNotFound, "no such job")).has_value());
}

}  // namespace
}  // namespace millrace::base::result_test
