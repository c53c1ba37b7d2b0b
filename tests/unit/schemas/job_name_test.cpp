#include "schemas/jobs/job_name.h"

#include <gtest/gtest.h>

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

TEST(JobName, WhatHasNoneHasAnEmptyOne) {
  EXPECT_EQ(job_name(Kind::kOcr, pack(spec_of(""))), "");
  EXPECT_EQ(job_name(Kind::kChat, R"({"document_name":"a","file_name":"b"})"), "");
  EXPECT_EQ(job_name(Kind::kExec, R"({"document_name":"a","file_name":"b"})"), "");
  for (const char* unreadable : {"", "{", "[]", "3", R"({"document_name":3})", R"({"document_name":"a)"})
    EXPECT_EQ(job_name(Kind::kOcr, unreadable), "") << unreadable;
  EXPECT_TRUE(may_have_name(Kind::kOcr) && may_have_name(Kind::kStt));
  EXPECT_FALSE(may_have_name(Kind::kExec) || may_have_name(Kind::kChat) || may_have_name(Kind::kMachine));
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
