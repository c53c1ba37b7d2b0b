#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "app/cli/jobs/queues_command.h"

namespace millrace::cli {
namespace {

using nlohmann::json;

std::string queue(const char* text) { return queue_row(json::parse(text)); }
std::string worker(const char* text) { return worker_row(json::parse(text)); }

TEST(QueueText, AQueueIsOneLineBelowItsHeads) {
  EXPECT_EQ("KIND      QUEUED     RUNNING    WAITING    SCHEDULED  OLDEST     SLOTS      STATE",
            queue_header());
  EXPECT_EQ(
      "ocr       12         2          1          3          90s        2/4        open",
      queue(R"({"kind":"ocr","queued":12,"running":2,"waiting":1,"scheduled":3,"oldest_queued_seconds":90.5,
                      "slots":4,"used":2,"paused":false})"));
}

TEST(QueueText, AGroupOfDeadJobsIsOneLineWithItsNewest) {
  EXPECT_EQ(
      "KIND      CODE                          JOBS       NEWEST                                     ERROR",
      dead_header());
  EXPECT_EQ(
      "ocr       document_encrypted            12         ocr-1                                      "
      "it wants a password",
      dead_row(json::parse(R"({"kind":"ocr","code":"document_encrypted","jobs":12,
                      "newest":{"id":"ocr-1","error":{"message":"it wants\na password"}}})")));
}

TEST(QueueText, ACommandThatEndedWithoutAnErrorHasNoneToShow) {
  EXPECT_EQ("exec      -                             1          exec-01a214a4-b393-7064-b6e4-ea1e133cc923  -",
            dead_row(json::parse(R"({"kind":"exec","code":"","jobs":1,
                      "newest":{"id":"exec-01a214a4-b393-7064-b6e4-ea1e133cc923"}})")));
}

TEST(QueueText, APausedOneSaysSinceWhen) {
  EXPECT_EQ(
      "stt       0          0          0          0          -          0/2        paused since T1",
      queue(
          R"({"kind":"stt","queued":0,"running":0,"waiting":0,"scheduled":0,"slots":2,"used":0,"paused":true,
                      "paused_at":"T1"})"));
}

TEST(QueueText, AgesAreInTheUnitThatAPersonWouldUse) {
  const auto aged = [](const char* seconds) {
    return queue_row({{"oldest_queued_seconds", json::parse(seconds)}});
  };
  EXPECT_NE(aged("119.9").find("119s"), std::string::npos);
  EXPECT_NE(aged("120").find("2m "), std::string::npos);
  EXPECT_NE(aged("7200").find("2h "), std::string::npos);
  EXPECT_NE(aged("172800").find("2d "), std::string::npos);
}

TEST(QueueText, AWorkerSaysHowItStandsAndWhatItHas) {
  constexpr const char* kRest =
      R"("name":"box-1","host":"box","heartbeat_age_seconds":3,"slots":[{"kind":"ocr","slots":2,"used":1}])";
  const auto row = [&](const std::string& state) { return worker(("{" + state + kRest + "}").c_str()); };
  EXPECT_EQ(
      "box-1                         live       3s         ocr 1/2                                           "
      "  -                 box",
      row(R"("live":true,"draining":false,)"));
  EXPECT_NE(row(R"("live":true,"draining":true,)").find("draining"), std::string::npos);
  EXPECT_NE(row(R"("live":false,"draining":true,)").find("lost"), std::string::npos);
}

TEST(QueueText, TheHostOfAWorkerOfAllKindsStandsBelowItsHead) {
  const std::string row = worker(
      R"({"name":"box-1","live":true,"host":"box","slots":[{"kind":"ocr","slots":16,"used":10},
          {"kind":"exec","slots":4,"used":0},{"kind":"machine","slots":4,"used":0},
          {"kind":"chat","slots":64,"used":0},{"kind":"stt","slots":2,"used":1}]})");
  EXPECT_EQ(worker_header().find("HOST"), row.find("box", 5));
}

TEST(QueueText, AWorkerSaysHowManyLeasesItHoldsAndTheAgeOfTheOldestByTheGatewaysClock) {
  json busy = json::parse(
      R"({"name":"box-1","live":true,"host":"box","seen_at":"2026-01-01T00:10:00.000Z",
          "heartbeat_age_seconds":2.5,"leases_held":3,"leases":[
          {"job":"ocr-1","since":"2026-01-01T00:09:00.000Z"},{"job":"ocr-2","since":"2026-01-01T00:07:02.000Z"},
          {"job":"ocr-3"}],"slots":[{"kind":"ocr","slots":4,"used":3}]})");
  const std::string row = worker_row(busy);
  EXPECT_EQ(worker_header().find("LEASES"), row.find("3, oldest 3m  "));
  EXPECT_EQ(worker_header().find("HOST"), row.rfind("box"));
  busy["leases_held"] = 0, busy["leases"] = json::array();
  EXPECT_NE(worker_row(busy).find("  0                 box"), std::string::npos) << worker_row(busy);
}

}  // namespace
}  // namespace millrace::cli
