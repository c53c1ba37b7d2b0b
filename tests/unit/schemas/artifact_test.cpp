#include "schemas/machines/artifact.h"

#include <gtest/gtest.h>

namespace millrace::schemas::artifact_test {
namespace {

using schemas::Json;

const base::Uuid kId = *base::Uuid::parse("01932b6c-8a00-7000-8000-000000000001");
const base::Uuid kOther = *base::Uuid::parse("01932b6c-8a00-7000-8000-000000000002");

TEST(Artifact, AnIdIsItsPrefixAndALowerCaseUuid) {
  EXPECT_EQ(artifact_id(kId), "art-01932b6c-8a00-7000-8000-000000000001");
  EXPECT_EQ(artifact_id_from(artifact_id(kId)), kId);
  for (const char* text :
       {"", "art-", "ssh-01932b6c-8a00-7000-8000-000000000001", "art-01932B6C-8A00-7000-8000-000000000001",
        "01932b6c-8a00-7000-8000-000000000001"}) {
    EXPECT_FALSE(artifact_id_from(text)) << text;
  }
}

TEST(Artifact, ItsTypeFollowsFromTheEndingOfItsName) {
  EXPECT_EQ(mime_type_of("a.txt"), "text/plain");
  EXPECT_EQ(mime_type_of("report/index.HTML"), "text/html");
  EXPECT_EQ(mime_type_of("a.tar.gz"), "application/gzip");
  EXPECT_EQ(mime_type_of("7.7z"), "application/x-7z-compressed");
  EXPECT_EQ(mime_type_of("last.zst"), "application/zstd");
  EXPECT_EQ(mime_type_of("a.md"), "text/markdown");
  EXPECT_EQ(mime_type_of("a.csv"), "text/csv");
  EXPECT_EQ(mime_type_of("a.svg"), "image/svg+xml");
}

TEST(Artifact, WhatIsNotKnownByItsNameIsBytes) {
  for (const char* name : {"", "a", "a.", "a.unheard-of", "txt", "a.txt/b", "b.tx"}) {
    EXPECT_EQ(mime_type_of(name), "application/octet-stream") << name;
  }
}

TEST(Artifact, TheResourceHasEveryFieldOfTheContract) {
  Artifact artifact{.id = kId,
                    .machine = kOther,
                    .execution = {Kind::kExec, kOther},
                    .name = "ä/\"b\".txt",
                    .bytes = 5,
                    .mime_type = "text/plain",
                    .sha256 = base::sha256("hello"),
                    .created_at = base::wall_from(1'700'000'000'000),
                    .expires_at = base::wall_from(1'700'604'800'000)};
  const std::string url = "/v1/machines/dm-x/artifacts/art-y/content";
  const Json expected = {{"artifact_id", "art-01932b6c-8a00-7000-8000-000000000001"},
                         {"machine_id", "dm-01932b6c-8a00-7000-8000-000000000002"},
                         {"execution_id", "exec-01932b6c-8a00-7000-8000-000000000002"},
                         {"name", "ä/\"b\".txt"},
                         {"size_bytes", 5},
                         {"mime_type", "text/plain"},
                         {"sha256", "2cf24dba5fb0a30e26e83b2ac5b9e29e1b161e5c1fa7425e73043362938b9824"},
                         {"created_at", "2023-11-14T22:13:20.000Z"},
                         {"expires_at", "2023-11-21T22:13:20.000Z"},
                         {"download_url", url}};
  EXPECT_EQ(Json::parse(artifact_json(artifact, url)), expected);
  artifact.expires_at.reset();
  EXPECT_FALSE(Json::parse(artifact_json(artifact, url)).contains("expires_at"));
}

}  // namespace
}  // namespace millrace::schemas::artifact_test
