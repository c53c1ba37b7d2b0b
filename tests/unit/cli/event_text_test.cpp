#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "app/cli/jobs/job_history.h"

namespace millrace::cli {
namespace {

using nlohmann::json;

std::string event_of(const char* type, const char* data) {
  return event_text({{"version", 3}, {"at", "T1"}, {"type", type}, {"data", json::parse(data)}});
}

TEST(EventText, AnEventIsOneLineOfTimeTypeAndSentence) {
  EXPECT_EQ("T1  queued     it waits for a worker", event_of("queued", "{}"));
  EXPECT_EQ("T1  running    attempt 1 begins", event_of("running", R"({"attempt":1})"));
  EXPECT_EQ("T1  progress   0 of 12 done", event_of("progress", R"({"done":0,"total":12})"));
  EXPECT_EQ("T1  page       page 3 is read", event_of("page", R"({"index":3})"));
  EXPECT_EQ("T1  piece      piece 3 is transcribed", event_of("piece", R"({"index":3})"));
  EXPECT_EQ("T1  waiting    it is processed in 3 parts", event_of("waiting", R"({"children":3})"));
  EXPECT_EQ("T1  failed     it is locked (document_encrypted)",
            event_of("failed", R"({"code":"document_encrypted","message":"it is locked"})"));
  EXPECT_EQ("T1  retry      it fell (worker_lost); attempt 1 failed; the next attempt at T2",
            event_of("retry", R"({"code":"worker_lost","message":"it fell","attempt":1,"run_at":"T2"})"));
  EXPECT_EQ("T1  succeeded", event_of("succeeded", "{}"));
}

TEST(EventText, AJobThatIsQueuedAgainSaysWhy) {
  EXPECT_EQ("T1  queued     its machine is awake; it waits for a worker",
            event_of("queued", R"({"reason":"machine_awake"})"));
  EXPECT_EQ("T1  queued     all its parts are done; they are assembled next",
            event_of("queued", R"({"reason":"children_done"})"));
  EXPECT_EQ("T1  queued     a_new_one", event_of("queued", R"({"reason":"a_new_one"})"));
  EXPECT_EQ("T1  wake_in_progress  it waits until its machine is awake", event_of("wake_in_progress", "{}"));
}

TEST(EventText, WhatACommandWroteHasALineForEachOfItsOwn) {
  EXPECT_EQ("T1  stdout     one\nT1  stdout     \nT1  stdout     two [2J",
            event_of("stdout", R"({"chunk":"one\n\ntwo\u001b[2J\n"})"));
  EXPECT_EQ("T1  stderr     3B that are not text",
            event_of("stderr", R"({"chunk":"AP8B","encoding":"base64"})"));
  EXPECT_EQ("T1  warning    it left too much", event_of("warning", R"({"message":"it left too much"})"));
}

TEST(EventText, WhatNoSentenceIsMadeOfStandsBehindItByItsName) {
  EXPECT_EQ("T1  running    attempt 2 begins, worker w-1",
            event_of("running", R"({"attempt":2,"worker":"w-1"})"));
  EXPECT_EQ("T1  failed     no (invalid_field), param pages",
            event_of("failed", R"({"code":"invalid_field","message":"no","param":"pages"})"));
  EXPECT_EQ("T1  page       number 3", event_of("page", R"({"number":3})"));
}

TEST(EventText, AnEventMovesNoCursor) {
  EXPECT_EQ("T1  failed     one two", event_of("failed", R"({"message":"one\ntwo"})"));
  EXPECT_EQ("T1  failed     no\\ [2J", event_of("failed", R"({"message":"no\\\u001b[2J"})"));
}

TEST(EventText, AnEventOfAnotherShapeIsShownWhole) {
  EXPECT_EQ("[1]", event_text(json::parse("[1]")));
  EXPECT_EQ("T1  odd        [1]", event_of("odd", "[1]"));
  EXPECT_EQ("T1  odd        3", event_of("odd", R"({"message":3})"));
  EXPECT_EQ("T1  retry", event_of("retry", "{}"));
}

TEST(JobHistory, WhatPutsPartsTogetherIsNotCountedAmongTheAttempts) {
  JobHistory history;
  const auto told = [&](const char* type, const json& data) {
    return history.text({{"at", "T1"}, {"type", type}, {"data", data}});
  };
  EXPECT_EQ("T1  running    attempt 1 begins", told("running", {{"attempt", 1}}));
  EXPECT_EQ("T1  running    attempt 2 begins", told("running", {{"attempt", 2}}));
  EXPECT_EQ("T1  waiting    it is processed in 3 parts", told("waiting", {{"children", 3}}));
  EXPECT_EQ("T1  running    its parts are assembled", told("running", {{"attempt", 3}}));
  EXPECT_EQ("T1  retry      it fell; attempt 2 failed",
            told("retry", {{"message", "it fell"}, {"attempt", 3}}));
  EXPECT_EQ("T1  running    attempt 3 begins", told("running", {{"attempt", 4}}));
  EXPECT_EQ("T1  succeeded", told("succeeded", json::object()));
  EXPECT_EQ("[1]", history.text(json::parse("[1]")));
}

}  // namespace
}  // namespace millrace::cli
