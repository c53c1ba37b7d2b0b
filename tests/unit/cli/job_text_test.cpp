#include "app/cli/jobs/job_text.h"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

namespace millrace::cli {
namespace {

using nlohmann::json;

const json kJob = json::parse(R"({
  "attempt": 2, "completed_at": "T3", "created_at": "T1", "expires_at": "T4", "id": "ocr-1", "kind": "ocr",
  "error": {"code": "page_failed", "message": "no page could be read"}, "model": "millrace/ocr",
  "new_field": [1], "progress": {"done": 3, "total": 12}, "started_at": "T2", "status": "failed",
  "links": {"result": "http://x/result", "self": "http://x"}})");

TEST(JobText, FieldsStandInTheOrderOfAPersonsQuestionsAndLinksLast) {
  EXPECT_EQ(
      "id               ocr-1\n"
      "kind             ocr\n"
      "status           failed\n"
      "model            millrace/ocr\n"
      "created_at       T1\n"
      "started_at       T2\n"
      "completed_at     T3\n"
      "expires_at       T4\n"
      "attempt          2\n"
      "progress         3/12\n"
      "error            no page could be read (page_failed)\n"
      "new_field        [1]\n"
      "link result      http://x/result\n"
      "link self        http://x\n",
      job_text(kJob));
}

TEST(JobText, ARowHasTheNameCutAndWithoutControlCharacters) {
  json job = kJob;
  job["name"] = "in\nvoice\x1b]0;x\x07 " + std::string(80, 'n');
  const std::string row = job_row(job);
  EXPECT_NE(row.find("  in voice ]0;x  " + std::string(45, 'n') + "…  page_failed"), std::string::npos)
      << row;
  EXPECT_NE(job_text(job).find("\nname             in voice ]0;x  nnn"), std::string::npos) << job_text(job);
}

json named(const std::string& name) { return {{"id", "ocr-1"}, {"status", "failed"}, {"name", name}}; }

TEST(JobText, TheColumnsOfAListAreAsWideAsTheirContents) {
  JobTable table;
  EXPECT_EQ(table.lines({named("a name that is rather long"), named("Müller"), named("b")}),
            "ID     STATUS  PROGRESS  CREATED  MODEL  NAME                        ERROR\n"
            "ocr-1  failed  -                  -      a name that is rather long  -\n"
            "ocr-1  failed  -                  -      Müller                      -\n"
            "ocr-1  failed  -                  -      b                           -\n");
  EXPECT_EQ(table.lines({named("b")}),
            "ocr-1  failed  -                  -      b                           -\n")
      << "the next page has the same columns and no header";
  EXPECT_EQ(JobTable().lines({}), "ID  STATUS  PROGRESS  CREATED  MODEL  NAME  ERROR\n");
}

TEST(JobText, NamesAreCutToTheTerminal) {
  const std::string lines = JobTable(70).lines({named("ein Name mit Ümlauten, der länger ist")});
  EXPECT_EQ(lines.substr(lines.find('\n') + 1),
            "ocr-1  failed  -                  -      ein Name mit Ümlauten…  -\n");
}

TEST(JobText, WhatIsNotKnownOfAJobHasNoLine) {
  EXPECT_EQ("id               ocr-1\n", job_text({{"id", "ocr-1"}}));
  EXPECT_EQ("-", progress_text({{"id", "ocr-1"}}));
  EXPECT_EQ("3/12", progress_text(kJob));
}

TEST(JobText, ALongNameMovesAllValues) {
  EXPECT_EQ("id                ocr-1\nupstream_attempts 1\n",
            job_text({{"id", "ocr-1"}, {"upstream_attempts", 1}}));
}

TEST(JobText, AJobThatWaitsSaysForWhat) {
  const json queued = {{"status", "queued"}, {"attempt", 1}};
  const json refused = json::parse(
      R"({"type":"retry","data":{"code":"rate_limited","message":"mine answered 429","attempt":1,"run_at":"T2"}})");
  EXPECT_EQ("mine answered 429 (rate_limited), next at T2", waiting_text(queued, refused, "T1"));
  EXPECT_EQ("mine answered 429 (rate_limited), due since T2", waiting_text(queued, refused, "T3"));
  const json lost = {{"type", "queued"}, {"data", {{"reason", "worker_lost"}}}};
  EXPECT_EQ("its worker was lost; it waits for another worker", waiting_text(queued, lost, "T1"));
  EXPECT_EQ("for its next attempt", waiting_text(queued, {{"type", "queued"}}, "T1"));
  EXPECT_EQ("for its next attempt", waiting_text(queued, {}, "T1"));
  EXPECT_EQ("no worker has started it yet", waiting_text({{"status", "queued"}, {"attempt", 0}}, {}, "T1"));
  EXPECT_EQ("", waiting_text({{"status", "running"}}, refused, "T1"));
}

TEST(JobText, AJobWhoseQueueIsPausedSaysWhatOpensIt) {
  const json held = {{"status", "queued"}, {"kind", "ocr"}, {"attempt", 0}, {"paused", true}};
  EXPECT_EQ("the queue of kind ocr is paused until `millrace queues resume ocr`",
            waiting_text(held, {}, "T1"));
}

TEST(JobText, AJobThatNoWorkerServesSaysSoUnlessItsLastAttemptSaysMore) {
  const json unserved = {{"status", "queued"}, {"kind", "ocr"}, {"attempt", 1}, {"unserved", true}};
  EXPECT_EQ(
      "no worker serves the kind ocr at present (`millrace worker --kinds ocr` starts one); the job is "
      "kept",
      waiting_text(unserved, {}, "T1"));
  const json failed = {{"type", "retry"}, {"data", {{"message", "it fell"}, {"run_at", "T2"}}}};
  EXPECT_EQ("it fell, next at T2", waiting_text(unserved, failed, "T1"));
}

}  // namespace
}  // namespace millrace::cli
