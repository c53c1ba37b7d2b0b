#include "schemas/media/ocr_request.h"
#include "tests/unit/schemas/mutilated.h"
#include "tests/unit/schemas/ocr_both_ways.h"

namespace millrace::schemas::ocr_quick_test {
namespace {

using testing::mutilated;
using testing::parse_ocr_both_ways;

bool is_quick_ocr(std::string body) { return quick_ocr_request(body).has_value(); }

std::string with_member(const std::string& more) {
  return R"({"document":{"document_url":"data:application/pdf;base64,JVBERi0="})" + more + "}";
}
std::string with_inner_member(const std::string& more) {
  return R"({"document":{"document_url":"data:application/pdf;base64,JVBERi0=")" + more + "}}";
}

constexpr std::string_view kUsualOcr =
    R"( {"model":"mistral-ocr-latest","document":{"type":"document_url","document_name":"in ü",)"
    R"("document_url":"DATA:application/pdf;x=y;BASE64,JVBERi0xLjQK"} , "include_image_base64" : true,)"
    R"("document_name":"a.pdf","deferred":false}  )";

TEST(OcrQuick, ReadsTheUsualRequestAsTheTreeDoes) {
  std::string body(kUsualOcr);
  const auto got = quick_ocr_request(body);
  ASSERT_TRUE(got.has_value());
  EXPECT_EQ(got->model, "mistral-ocr-latest");
  EXPECT_EQ(got->base64, "JVBERi0xLjQK");
  EXPECT_EQ(got->name, "a.pdf");
  EXPECT_TRUE(got->include_image_base64);
  EXPECT_FALSE(got->deferred);
  EXPECT_TRUE(parse_ocr_both_ways(std::string(kUsualOcr)).has_value());
}

TEST(OcrQuick, ItsDocumentIsAViewIntoTheBodyWhichStays) {
  std::string body(kUsualOcr);
  const auto got = quick_ocr_request(body);
  ASSERT_TRUE(got.has_value());
  EXPECT_EQ(body, kUsualOcr);
  EXPECT_GE(got->base64.data(), body.data());
  EXPECT_LT(got->base64.data(), body.data() + body.size());
}

TEST(OcrQuick, ReadsEachUsualMember) {
  for (const char* each : {"", R"(,"model":"x")", R"(,"document_name":"")", R"(,"document_name":"ü")",
                           R"(,"deferred":true)", R"(,"include_image_base64":false)"}) {
    EXPECT_TRUE(is_quick_ocr(with_member(each))) << each;
    static_cast<void>(parse_ocr_both_ways(with_member(each)));
  }
  for (const char* each :
       {R"(,"type":"document_url")", R"(,"document_name":"in")", "\n,\t\"document_name\" :\r \"\""}) {
    EXPECT_TRUE(is_quick_ocr(with_inner_member(each))) << each;
    static_cast<void>(parse_ocr_both_ways(with_inner_member(each)));
  }
  EXPECT_TRUE(is_quick_ocr(R"({"document":{"document_url":"data:;base64,"}})"));
  EXPECT_TRUE(is_quick_ocr(with_member(R"(,"document_name":")" + std::string(255, 'n') + "\"")));
}

TEST(OcrQuick, LeavesEverythingElseToTheTree) {
  for (const char* each :
       {R"(,"model":"")", R"(,"model":null)", R"(,"model":7)", R"(,"model":"a\/b")", R"(,"pages":[1])",
        R"(,"pages":null)", R"(,"deferred":1)", R"(,"deferred":null)", R"(,"deferred":true,"deferred":true)",
        R"(,"document":{"document_url":"data:;base64,"})", R"(,"x":1)", R"(,"deferr\u0065d":true)",
        R"(,"document_name":["a"])", R"(,"document_name":"\ud800")", R"(,"deferred":tru)", ",",
        R"(,"document_name":"a" "b")"}) {
    EXPECT_FALSE(is_quick_ocr(with_member(each))) << each;
    static_cast<void>(parse_ocr_both_ways(with_member(each)));
  }
  for (const char* each :
       {R"(,"type":"image_url")", R"(,"type":null)", R"(,"image_url":"data:;base64,")", R"(,"file_id":"f")",
        R"(,"document_name":"a","document_name":"b")", R"(,"x":1)", R"(,"type":"document_url","type":"x")"}) {
    EXPECT_FALSE(is_quick_ocr(with_inner_member(each))) << each;
    static_cast<void>(parse_ocr_both_ways(with_inner_member(each)));
  }
  for (const char* url : {"https://e.org/a.pdf", "data:application/pdf,abc", "data:;base64",
                          "data:a\\/b;base64,", "a.pdf", ""}) {
    const std::string body = R"({"document":{"document_url":")" + std::string(url) + R"("}})";
    EXPECT_FALSE(is_quick_ocr(body)) << url;
    static_cast<void>(parse_ocr_both_ways(body));
  }
  EXPECT_FALSE(is_quick_ocr(with_member(R"(,"document_name":")" + std::string(256, 'n') + "\"")));
  EXPECT_FALSE(is_quick_ocr(with_member("") + "{}"));
  EXPECT_FALSE(is_quick_ocr(with_member("") + std::string(40'000, ' ')));
  for (const char* each : {"", "{}", "[]", "7", R"({"document":[]})", R"({"document":{}})"})
    EXPECT_FALSE(is_quick_ocr(each)) << each;
}

TEST(OcrQuick, AnUnknownModelIsRefusedWithTheSameError) {
  const auto request = parse_ocr_both_ways(with_member(R"(,"model":"millrace/orc")"));
  ASSERT_FALSE(request.has_value());
  EXPECT_EQ(request.error().error.code, base::Code::kModelNotFound);
  const auto other = parse_ocr_both_ways(with_member(R"(,"model":"team/reader")"),
                                         [](const std::string& model) { return model == "team/reader"; });
  ASSERT_TRUE(other.has_value());
  EXPECT_TRUE(other->spec.by_provider);
}

TEST(OcrQuick, NeverTakesWhatTheTreeRefusesNorReadsItOtherwise) {
  std::minstd_rand random(11);
  for (int round = 0; round < 20'000 && !::testing::Test::HasFailure(); ++round)
    static_cast<void>(parse_ocr_both_ways(mutilated(kUsualOcr, random)));
}

}  // namespace
}  // namespace millrace::schemas::ocr_quick_test
