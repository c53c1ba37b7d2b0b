#include "schemas/key_access.h"

#include <gtest/gtest.h>

#include "schemas/media/ocr.h"
#include "schemas/media/transcription.h"

namespace millrace::schemas::key_access_test {
namespace {

using List = std::vector<std::string>;

TEST(AllowLists, AreExactOrPrefixes) {
  EXPECT_TRUE(allows(std::nullopt, "anything"));
  EXPECT_FALSE(allows(List{}, "anything"));
  const AllowList list = List{"gpt-5", "openai/*"};
  for (const char* good : {"gpt-5", "openai/gpt-5", "openai/"}) EXPECT_TRUE(allows(list, good)) << good;
  for (const char* bad : {"gpt-5-mini", "gpt", "openai", "Openai/x", ""})
    EXPECT_FALSE(allows(list, bad)) << bad;
  EXPECT_TRUE(allows(List{"*"}, "anything"));
}

TEST(AllowLists, CoverWhatTheyAllow) {
  const AllowList wide = List{"gpt-5", "openai/*"};
  EXPECT_TRUE(covers(AllowList(), wide));
  EXPECT_FALSE(covers(wide, AllowList())) << "no list means everything";
  EXPECT_TRUE(covers(wide, AllowList(List{})));
  EXPECT_TRUE(covers(wide, AllowList(List{"openai/gpt-*", "gpt-5"})));
  EXPECT_FALSE(covers(wide, AllowList(List{"openai/gpt-5", "claude"})));
  EXPECT_FALSE(covers(wide, AllowList(List{"o*"})));
}

TEST(KeyAccessCovers, RangesByTheirAddresses) {
  const auto with = [](List ranges) { return KeyAccess{.ip_ranges = std::move(ranges)}; };
  EXPECT_TRUE(covers(with({"10.0.0.0/8"}), with({"10.1.0.0/16", "10.2.3.4"})));
  EXPECT_FALSE(covers(with({"10.0.0.0/8"}), with({"0.0.0.0/0"})));
  EXPECT_FALSE(covers(with({"10.0.0.0/8"}), KeyAccess{}));
  EXPECT_TRUE(covers(KeyAccess{}, with({"10.0.0.0/8"})));
}

TEST(KeyAccessInSpecs, ComesBackAndIsAbsentInSpecsOfOlderVersions) {
  for (const AllowList& list : {AllowList(), AllowList(List{}), AllowList(List{"a", "openai/*"})}) {
    OcrSpec ocr;
    ocr.model = "m";
    ocr.allowed_models = list;
    EXPECT_EQ(unpack_ocr_spec(pack(ocr))->allowed_models, list);
    TranscriptionSpec spoken;
    spoken.model = "m";
    spoken.allowed_models = list;
    EXPECT_EQ(transcription_spec_from_json(to_json(spoken))->allowed_models, list);
  }
  EXPECT_EQ(unpack_ocr_spec(R"({"model":"m"})")->allowed_models, AllowList());
}

TEST(KeyAccessCheck, NamesTheFieldThatIsWrong) {
  EXPECT_TRUE(check_access({.ip_ranges = List{"10.0.0.0/8", "::1"}, .models = List{"a"}}).has_value());
  EXPECT_EQ(check_access({.ip_ranges = List{"10.0.0.1/8"}}).error().param, "ip_ranges");
  EXPECT_EQ(check_access({.models = List{""}}).error().param, "models");
  EXPECT_EQ(check_access({.mcp_servers = List(kAllowListMax + 1, "x")}).error().param, "mcp_servers");
}

}  // namespace
}  // namespace millrace::schemas::key_access_test
