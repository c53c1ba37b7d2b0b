#include "schemas/media/ocr_request.h"

#include "schemas/media/page_list.h"
#include "tests/unit/schemas/ocr_both_ways.h"

namespace millrace::schemas::ocr_request_test {
namespace {

using base::Code;
using schemas::Json;

tl::expected<OcrRequest, Refusal> parse(const std::string& body) {
  return testing::parse_ocr_both_ways(body);
}

// A request with one document member and additional members.
std::string with_document(std::string_view document, std::string_view more = "") {
  return R"({"document":)" + std::string(document) + std::string(more) + "}";
}
std::string with(std::string_view more) {
  return with_document(R"({"type":"document_url","document_url":"https://example.org/a.pdf"})", more);
}

TEST(OcrRequest, TakesEveryFormOfADocument) {
  const std::string_view forms[] = {
      R"({"type":"document_url","document_url":"https://example.org/a.pdf"})",
      R"({"document_url":"https://example.org/a.pdf"})",
      R"({"type":null,"document_url":"https://example.org/a.pdf"})",
      R"({"type":"image_url","image_url":"https://example.org/a.pdf"})",
      R"({"type":"image_url","image_url":{"url":"https://example.org/a.pdf"}})",
      R"({"image_url":{"url":"https://example.org/a.pdf","detail":"high"}})",
  };
  for (std::string_view form : forms) {
    const auto request = parse(with_document(form));
    ASSERT_TRUE(request.has_value()) << form << request.error().error.message;
    EXPECT_EQ(request->spec.document_url, "https://example.org/a.pdf");
    EXPECT_FALSE(request->is_data_uri);
  }
}

TEST(OcrRequest, TakesADataUriAsAView) {
  for (std::string_view uri :
       {"data:application/pdf;base64,JVBERi0=", "data:;base64,JVBERi0=", "DATA:a/b;x=y;BASE64,JVBERi0="}) {
    std::string body = with_document(R"({"document_url":")" + std::string(uri) + R"("})");
    const auto request = parse_ocr_request(body);
    ASSERT_TRUE(request.has_value()) << uri;
    EXPECT_TRUE(request->is_data_uri);
    EXPECT_EQ(request->base64, "JVBERi0=");
    EXPECT_EQ(request->spec.document_url, "");
  }
}

TEST(OcrRequest, ALongDataUriStaysWhereItIs) {
  const std::string base64(100'000, 'A');
  std::string body = with_document(R"({"document_url":"data:application\/pdf;base64,)" + base64 + R"("})");
  const auto request = parse_ocr_request(body);
  ASSERT_TRUE(request.has_value());
  EXPECT_EQ(request->base64, base64);
  EXPECT_GE(request->base64.data(), body.data());
  EXPECT_LT(request->base64.data(), body.data() + body.size());
}

TEST(OcrRequest, LocalOrProviderOcrIsDecidedAtSubmission) {
  const auto of = [](const char* model, bool is_other) {
    std::string body = with(std::string(R"(,"model":")") + model + '"');
    const auto request = parse_ocr_request(body, [is_other](const std::string&) { return is_other; });
    EXPECT_TRUE(request.has_value()) << model;
    return request && request->spec.by_provider;
  };
  EXPECT_FALSE(of("millrace/ocr", false));
  EXPECT_FALSE(of("mistral-ocr-latest", false));
  EXPECT_TRUE(of("mistral-ocr-latest", true));
  EXPECT_TRUE(of("team/reader", true));
}

struct Refused {
  std::string body;
  std::string param;
  std::string type;
};

TEST(OcrRequest, RefusesWrongShapesNamingTheField) {
  const Refused table[] = {
      {"{}", "document", "missing"},
      {"", "document", "missing"},
      {R"({"document":null})", "document", "missing"},
      {R"({"document":"https://example.org/a.pdf"})", "document", "dict_type"},
      {with_document("{}"), "document.document_url", "missing"},
      {with_document(R"({"type":"image_url"})"), "document.image_url", "missing"},
      {with_document(R"({"type":"image_url","document_url":"https://e.org/a"})"), "document.image_url",
       "missing"},
      {with_document(R"({"type":"file"})"), "document.file_id", "missing"},
      {with_document(R"({"type":"file","file_id":"f-1","document_url":"https://e.org/a"})"), "document",
       "value_error"},
      {with_document(R"({"type":"word","document_url":"https://e.org/a"})"), "document.type",
       "literal_error"},
      {with_document(R"({"document_url":7})"), "document.document_url", "string_type"},
      {with_document(R"({"document_url":""})"), "document.document_url", "missing"},
      {with_document(R"({"document_url":"a.pdf"})"), "document.document_url", "url_parsing"},
      {with_document(R"({"document_url":"ftp://e.org/a.pdf"})"), "document.document_url", "url_parsing"},
      {with_document(R"({"document_url":"file:///etc/passwd"})"), "document.document_url", "url_parsing"},
      {with_document(R"({"document_url":"https://"})"), "document.document_url", "url_parsing"},
      {with_document(R"({"document_url":"https:///x"})"), "document.document_url", "url_parsing"},
      {with_document(R"({"document_url":"https://e.org/a b"})"), "document.document_url", "url_parsing"},
      {with_document(R"({"document_url":"https://u:pw@e.org/a"})"), "document.document_url", "url_parsing"},
      {with_document(R"({"image_url":{"url":"https://u@e.org/a"}})"), "document.image_url", "url_parsing"},
      {with_document(R"({"document_url":"https://e.org/)" + std::string(8192, 'x') + R"("})"),
       "document.document_url", "url_too_long"},
      {with_document(R"({"document_url":"data:application/pdf,abc"})"), "document.document_url",
       "url_parsing"},
      {with_document(R"({"document_url":"data:;base64"})"), "document.document_url", "url_parsing"},
      {with_document(R"({"document_url":"https://e.org/a","image_url":"https://e.org/b"})"), "document",
       "value_error"},
      {with_document(R"({"image_url":{"uri":"x"}})"), "document.image_url", "string_type"},
      {with_document(R"({"type":"file","file_id":"f-1"})"), "document.file_id", "value_error"},
      {with_document(R"({"type":"document_url","file_id":"f-1"})"), "document", "value_error"},
      {with(R"(,"model":7)"), "model", "string_type"},
      {with(R"(,"model":"")"), "model", "string_too_short"},
      {with(R"(,"pages":"x")"), "pages", "page_list"},
      {with(R"(,"pages":7)"), "pages", "page_list"},
      {with(R"(,"pages":[])"), "pages", "too_short"},
      {with(R"(,"pages":[-1])"), "pages", "int_range"},
      {with(R"(,"pages":[1000])"), "pages", "int_range"},
      {with(R"(,"pages":[1.5])"), "pages", "int_range"},
      {with(R"(,"pages":["1"])"), "pages", "int_range"},
      {with(R"(,"include_image_base64":"yes")"), "include_image_base64", "bool_type"},
      {with(R"(,"deferred":1)"), "deferred", "bool_type"},
      {with(R"(,"document_name":1)"), "document_name", "string_type"},
  };
  for (const Refused& row : table) {
    const auto request = parse(row.body);
    ASSERT_FALSE(request.has_value()) << row.body;
    EXPECT_EQ(request.error().error.code, Code::kInvalidField) << row.body;
    EXPECT_EQ(request.error().error.param, row.param) << row.body;
    ASSERT_FALSE(request.error().problems.empty());
    EXPECT_EQ(request.error().problems.front().type, row.type) << row.body;
  }
}

TEST(OcrRequest, ListsAllProblemsAtOnce) {
  const auto request = parse(with(R"(,"pages":"x","deferred":1)"));
  ASSERT_FALSE(request.has_value());
  EXPECT_EQ(request.error().problems.size(), 2u);
}

TEST(OcrRequest, MalformedJsonIsABadRequest) { EXPECT_EQ(parse("{").error().error.code, Code::kBadRequest); }

TEST(OcrRequest, AnswersToThreeModelNamesAndEchoesThem) {
  EXPECT_EQ(parse(with(""))->spec.model, "vendor-ocr-latest");
  EXPECT_EQ(parse(with(R"(,"model":null)"))->spec.model, "vendor-ocr-latest");
  for (const char* name : {"millrace/ocr", "vendor-ocr-latest", "mistral-ocr-latest"}) {
    EXPECT_EQ(parse(with(R"(,"model":")" + std::string(name) + R"(")"))->spec.model, name);
  }
}

TEST(OcrRequest, AnUnknownModelIsNotFoundNamingTheNearest) {
  const auto request = parse(with(R"(,"model":"millrace/orc")"));
  ASSERT_FALSE(request.has_value());
  EXPECT_EQ(request.error().error.code, Code::kModelNotFound);
  EXPECT_NE(request.error().error.message.find("'millrace/ocr'"), std::string::npos);
}

TEST(OcrRequest, UnknownFieldsNeverFailAndAreNamed) {
  const auto request =
      parse(R"({"id":"1","document":{"document_url":"https://e.org/a","x":[1]},"image_limit":3})");
  ASSERT_TRUE(request.has_value());
  std::vector<std::string> dropped;
  for (const DroppedParam& each : request->dropped) dropped.push_back(each.name);
  std::sort(dropped.begin(), dropped.end());
  EXPECT_EQ(dropped, (std::vector<std::string>{"document.x", "id", "image_limit"}));
}

TEST(OcrRequest, KeepsItsOptions) {
  const auto request = parse(
      with(R"(,"pages":[7,0,7,3],"include_image_base64":true,"document_name":"a.pdf","deferred":true)"));
  ASSERT_TRUE(request.has_value());
  EXPECT_EQ(request->spec.pages, (PageList{0, 3, 7}));
  EXPECT_TRUE(request->spec.include_image_base64);
  EXPECT_EQ(request->spec.document_name, "a.pdf");
  EXPECT_TRUE(request->deferred);
  EXPECT_TRUE(parse(with(R"(,"pages":null,"deferred":null,"document_name":null)"))->spec.pages.empty());
}

TEST(OcrRequest, NumbersAndListsOfTheOptionsCount) {
  for (const char* each : {"1000,", "[],"}) {
    std::string values;
    for (int i = 0; i < 90'000; ++i) values += each;
    values.pop_back();
    const auto request = parse(with(R"(,"bbox_annotation_format":{"x":[)" + values + "]}"));
    ASSERT_FALSE(request.has_value());
    EXPECT_EQ(request.error().error.code, Code::kInvalidField);
    EXPECT_EQ(request.error().problems.front().type, "too_long");
    EXPECT_NE(request.error().problems.front().msg.find("262144 bytes"), std::string::npos);
  }
}

const std::string kOptions =
    R"("table_format":"html","extract_header":true,"extract_footer":false,)"
    R"("include_blocks":true,"image_limit":0,"image_min_size":30,)"
    R"("confidence_scores_granularity":"word","document_annotation_prompt":"the sum",)"
    R"("bbox_annotation_format":{"type":"json_schema","json_schema":{"name":"b"}},)"
    R"("document_annotation_format":{"type":"text"})";

TEST(OcrRequest, OptionsOfProvidersAreKeptForThemAndReportedOtherwise) {
  for (const bool is_far : {true, false}) {
    std::string body = with("," + kOptions);
    const auto request = parse_ocr_request(body, [is_far](const std::string&) { return is_far; });
    ASSERT_TRUE(request.has_value());
    EXPECT_EQ(request->spec.options, is_far ? "{" + kOptions + "}" : "");
    std::vector<std::string> dropped;
    for (const DroppedParam& each : request->dropped) dropped.push_back(each.name);
    const std::vector<std::string> all{"table_format",
                                       "extract_header",
                                       "include_blocks",
                                       "image_limit",
                                       "image_min_size",
                                       "confidence_scores_granularity",
                                       "document_annotation_prompt",
                                       "bbox_annotation_format",
                                       "document_annotation_format"};
    EXPECT_EQ(dropped, is_far ? std::vector<std::string>() : all) << "extract_footer asks for nothing";
    const auto again = unpack_ocr_spec(pack(request->spec));
    EXPECT_EQ(again->options, request->spec.options);
  }
}

TEST(OcrRequest, OptionsAreOfTheirTypesAndBounded) {
  for (const char* bad : {R"("table_format":"xml")", R"("table_format":1)", R"("extract_header":"yes")",
                          R"("image_limit":-1)", R"("image_limit":1.5)", R"("image_min_size":"3")",
                          R"("bbox_annotation_format":"text")", R"("document_annotation_format":[])",
                          R"("document_annotation_prompt":{})", R"("confidence_scores_granularity":"line")"})
    EXPECT_FALSE(parse(with(std::string(",") + bad)).has_value()) << bad;
  const std::string long_text(3'000, 'x'), longer(300'000, 'x');
  const auto format = [](const std::string& text) {
    return R"(,"document_annotation_format":{"json_schema":{"description":")" + text + R"("}})";
  };
  std::string body = with(format(long_text));
  const auto request = parse_ocr_request(body, [](const std::string&) { return true; });
  ASSERT_TRUE(request.has_value());
  EXPECT_NE(request->spec.options.find(long_text), std::string::npos);
  const auto refused = parse(with(format(longer)));
  ASSERT_FALSE(refused.has_value());
  EXPECT_NE(refused.error().problems.at(0).msg.find("262144 bytes"), std::string::npos);
  EXPECT_TRUE(parse(with(R"(,"table_format":null,"image_limit":null)"))->dropped.empty());
}

TEST(OcrRequest, FormsHaveTheOptionsToo) {
  const auto far = [](const std::string&) { return true; };
  const auto request = parse_ocr_form({{"table_format", "markdown"},
                                       {"include_blocks", "true"},
                                       {"image_limit", "2"},
                                       {"document_annotation_format", R"({"type":"text"})"}},
                                      true, far);
  ASSERT_TRUE(request.has_value());
  EXPECT_EQ(Json::parse(request->spec.options),
            Json::parse(R"({"table_format":"markdown","include_blocks":true,"image_limit":2,
                           "document_annotation_format":{"type":"text"}})"));
  EXPECT_FALSE(parse_ocr_form({{"bbox_annotation_format", "text"}}, true, far).has_value());
  EXPECT_EQ(parse_ocr_query({{"table_format", "html"}})->dropped.at(0).name, "table_format");
}

TEST(OcrRequest, TakesADocumentNameInsideTheDocumentToo) {
  EXPECT_EQ(
      parse(with_document(R"({"document_url":"https://e.org/a","document_name":"in"})"))->spec.document_name,
      "in");
}

// A name is only shown: a file system allows 255 characters, which may be 1,020 bytes.
TEST(OcrRequest, CutsALongDocumentNameBetweenCharacters) {
  std::string names;
  for (int i = 0; i < 100; ++i) names += "\u65e5";
  for (const bool inside : {false, true}) {
    for (const std::size_t size : {255u, 256u, 10'000u}) {
      const auto body = [&](const std::string& name) {
        const std::string member = R"("document_name":")" + name + R"(")";
        return inside ? with_document(R"({"document_url":"https://e.org/a",)" + member + "}")
                      : with("," + member);
      };
      EXPECT_EQ(std::string(255, 'x'), parse(body(std::string(size, 'x')))->spec.document_name) << size;
      EXPECT_EQ(names.substr(0, 255), parse(body(names))->spec.document_name);
      EXPECT_EQ("x" + names.substr(0, 252), parse(body("x" + names))->spec.document_name);
    }
  }
}

TEST(PageList, ReadsNumbersAndRisingRanges) {
  EXPECT_EQ(parse_pages("0-5,7"), (PageList{0, 1, 2, 3, 4, 5, 7}));
  EXPECT_EQ(parse_pages(" 3 , 1 - 2,2"), (PageList{1, 2, 3}));
  EXPECT_EQ(parse_pages("999"), PageList{999});
}

TEST(PageList, RefusesAnythingElse) {
  for (const char* bad :
       {"", ",", "1,", "a", "-1", "5-1", "1-", "-", "0-1000", "1000", "1--2", "1;2", "99999999999", "+1"}) {
    EXPECT_EQ(parse_pages(bad), std::nullopt) << bad;
  }
}

TEST(OcrRequest, ItsSchemaNamesEveryField) {
  const Json schema = json_schema(ocr_request_fields());
  for (const char* name :
       {"model", "document", "pages", "include_image_base64", "document_name", "deferred"}) {
    EXPECT_TRUE(schema["properties"].contains(name)) << name;
  }
  EXPECT_EQ(schema["required"], Json::parse(R"(["document"])"));
  EXPECT_EQ(schema["properties"]["document"]["properties"]["type"]["enum"],
            Json::parse(R"(["document_url","image_url","file",null])"));
}

}  // namespace
}  // namespace millrace::schemas::ocr_request_test
