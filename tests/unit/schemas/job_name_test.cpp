#include "schemas/jobs/job_name.h"

#include <gtest/gtest.h>

#include "schemas/machines/execution.h"
#include "schemas/media/ocr.h"
#include "schemas/media/transcription.h"

namespace millrace::schemas::job_name_test {
namespace {

OcrSpec spec_of(std::string name, std::string document = "%PDF-") {
  OcrSpec spec;
  spec.model = "m";
  spec.inline_document = std::move(document);
  spec.document_name = std::move(name);
  return spec;
}

TEST(JobName, ItIsTheDocumentsOrTheRecordingsAsTheClientGaveIt) {
  EXPECT_EQ(job_name(Kind::kOcr, pack(spec_of("a \"b\"\n\x1b[2J ü.pdf"))), "a \"b\"\n\x1b[2J ü.pdf");
  EXPECT_EQ(job_name(Kind::kOcr, pack(spec_of("long.pdf", std::string(16'000, '\xFF')))), "long.pdf");
  TranscriptionSpec heard;
  heard.model = "m";
  heard.file_name = "talk.mp3";
  EXPECT_EQ(job_name(Kind::kStt, to_json(heard)), "talk.mp3");
}

TEST(JobName, AnExecutionsIsItsCommand) {
  const auto name = [](std::vector<std::string> command) {
    ExecutionSpec spec;
    spec.command = std::move(command);
    return job_name(Kind::kExec, to_json(spec));
  };
  EXPECT_EQ(name({"python3", "-c", "print(1)\nprint(2)"}), "python3 -c print(1) print(2)");
  EXPECT_EQ(name({std::string(kTextNameMax, 'a')}), std::string(kTextNameMax, 'a'));
  EXPECT_EQ(name({std::string(kTextNameMax, 'a'), "b"}), std::string(kTextNameMax, 'a') + "…");
  EXPECT_EQ(name({"sh", std::string(200, 'a')}), "sh…");
}

TEST(JobName, AChatsIsTheTextOfItsLastUserMessage) {
  using schemas::Json;
  const auto name = [](const std::vector<Json>& messages) {
    return job_name(Kind::kChat, Json{{"v", 1}, {"body", {{"messages", messages}}}}.dump());
  };
  const auto user = [](const Json& content) { return Json{{"role", "user"}, {"content", content}}; };
  const Json first = user("Hello");
  const Json reply = {{"role", "assistant"}, {"content", "Good day"}};
  EXPECT_EQ(name({first}), "Hello");
  EXPECT_EQ(name({first, reply, user("  What is\n\t2 + 2?  ")}), "What is 2 + 2?");
  EXPECT_EQ(name({first, reply}), "Hello");
  const Json picture = {{"type", "image_url"}, {"image_url", {{"url", "https://a.example/text"}}}};
  const Json text = {{"type", "text"}, {"text", "What is this?"}};
  EXPECT_EQ(name({user(Json::array({picture, text}))}), "What is this?");
  EXPECT_EQ(name({user(Json::array({picture}))}), "");
  std::string words;
  while (words.size() < 300) words += "früh ";
  const std::string cut = name({user(words)});
  EXPECT_TRUE(cut.starts_with("früh früh") && cut.ends_with("früh…") && cut.size() <= kTextNameMax + 3)
      << cut;
  std::string wide;
  while (wide.size() < 300) wide += "ü";
  EXPECT_EQ(name({user(wide)}), wide.substr(0, kTextNameMax) + "…");
}

TEST(JobName, WhatHasNoneHasAnEmptyOne) {
  EXPECT_EQ(job_name(Kind::kOcr, pack(spec_of(""))), "");
  for (const char* other :
       {R"({"document_name":"a","file_name":"b"})", R"({"command":"a","body":{"messages":"b"}})",
        R"({"command":[1],"body":{"messages":[1]}})", R"({"body":{"messages":[{"role":"user"}]}})"}) {
    EXPECT_EQ(job_name(Kind::kChat, other), "") << other;
    EXPECT_EQ(job_name(Kind::kExec, other), "") << other;
    EXPECT_EQ(job_name(Kind::kMachine, other), "") << other;
  }
  for (const char* unreadable : {"", "{", "[]", "3", R"({"document_name":3})", R"({"document_name":"a)"})
    EXPECT_EQ(job_name(Kind::kOcr, unreadable), "") << unreadable;
  for (const Kind kind : {Kind::kOcr, Kind::kStt, Kind::kExec, Kind::kChat}) EXPECT_TRUE(may_have_name(kind));
  EXPECT_FALSE(may_have_name(Kind::kMachine));
}

TEST(JobName, ALongOneIsCutBetweenCharacters) {
  EXPECT_EQ(job_name(std::string(kJobNameMax, 'a')).size(), kJobNameMax);
  EXPECT_EQ(job_name(std::string(kJobNameMax + 1, 'a')).size(), kJobNameMax);
  std::string wide;
  while (wide.size() < 300) wide += "é";
  EXPECT_EQ(job_name(wide), wide.substr(0, kJobNameMax - 1));
  EXPECT_EQ(job_name(Kind::kOcr, pack(spec_of(wide))), wide.substr(0, kJobNameMax - 1));
}

}  // namespace
}  // namespace millrace::schemas::job_name_test
