#include "schemas/media/ocr.h"

#include <gtest/gtest.h>

namespace millrace::schemas::ocr_test {
namespace {

using schemas::Json;

OcrPage good_page() {
  OcrPage page;
  page.index = 4;
  page.markdown = "# Title\n\n\"quoted\" \\ and é";
  page.images.push_back({"img-4-0", 1, 2, 30, std::nullopt, "data:image/jpeg;base64,AAAA"});
  page.dimensions = {200, 2339, 1654};
  return page;
}

OcrPage failed_page() {
  OcrPage page;
  page.index = 5;
  page.error = base::error(base::Code::kPageTimeout, "the page takes too long");
  return page;
}

TEST(OcrDocuments, ASpecComesBackAsItWasWritten) {
  OcrSpec spec;
  spec.model = "millrace/ocr";
  spec.inline_document = std::string("%PDF-\0\xFF\n{", 9);
  spec.document_name = "a \"b\".pdf";
  spec.pages = {0, 2, 7};
  spec.include_image_base64 = true;
  spec.by_provider = true;
  spec.is_range = true;
  const auto back = unpack_ocr_spec(pack(spec));
  ASSERT_TRUE(back);
  EXPECT_EQ(pack(*back), pack(spec));
  EXPECT_EQ(back->inline_document, spec.inline_document);
  EXPECT_EQ(back->pages, spec.pages);
  EXPECT_TRUE(back->by_provider);
  EXPECT_EQ(back->document_name, spec.document_name);
}

TEST(OcrDocuments, ASpecOfAnOlderProgramHasItsDocumentAsBase64) {
  const auto spec =
      unpack_ocr_spec(R"({"model":"m","inline_document":"JVBERi0xLjQ=","document_name":"a.pdf"})");
  ASSERT_TRUE(spec);
  EXPECT_EQ(spec->inline_document, "%PDF-1.4");
  EXPECT_EQ(spec->document_name, "a.pdf");
}

TEST(OcrDocuments, AnEmptySpecIsShort) {
  OcrSpec spec;
  spec.model = "m";
  EXPECT_EQ(pack(spec), R"({"model":"m"})");
}

TEST(OcrDocuments, TextThatIsNoSpecOrPageIsAnError) {
  EXPECT_FALSE(unpack_ocr_spec("{"));
  EXPECT_FALSE(unpack_ocr_spec(R"({"model":3})"));
  EXPECT_FALSE(ocr_page_from_json(R"({"index":1})"));
}

TEST(OcrDocuments, APageHasTheContractsKeys) {
  const Json page = Json::parse(to_json(good_page()));
  EXPECT_EQ(page.at("index"), 4);
  EXPECT_EQ(page.at("markdown"), good_page().markdown);
  EXPECT_EQ(page.at("dimensions"), (Json{{"dpi", 200}, {"height", 2339}, {"width", 1654}}));
  const Json& image = page.at("images").at(0);
  EXPECT_EQ(image.at("id"), "img-4-0");
  EXPECT_EQ(image.at("top_left_x"), 1);
  EXPECT_EQ(image.at("bottom_right_y"), nullptr);
  EXPECT_EQ(image.at("image_base64"), "data:image/jpeg;base64,AAAA");
  EXPECT_FALSE(page.contains("error"));
}

TEST(OcrDocuments, AFailedPageHasEmptyMarkdownAndNullDimensions) {
  const Json page = Json::parse(to_json(failed_page()));
  EXPECT_EQ(page, Json::parse(R"({"index":5,"markdown":"","images":[],"dimensions":null,
    "error":{"code":"page_timeout","message":"the page takes too long"}})"));
}

TEST(OcrDocuments, APageComesBackAsItWasWritten) {
  OcrPage unsure = good_page();
  unsure.warnings = {{"other_language", "the page looks \"Greek\""}, {"unsure", "é"}};
  for (const OcrPage& page : {good_page(), failed_page(), unsure}) {
    const auto back = ocr_page_from_json(to_json(page));
    ASSERT_TRUE(back);
    EXPECT_EQ(to_json(*back), to_json(page));
  }
}

TEST(OcrDocuments, APageNamesItsWarningsOnlyIfItHasAny) {
  EXPECT_FALSE(Json::parse(to_json(good_page())).contains("warnings"));
  OcrPage unsure = good_page();
  unsure.warnings = {{std::string(kPageWarningUnsure), "row 3 is doubtful"}};
  EXPECT_EQ(Json::parse(to_json(unsure)).at("warnings"),
            Json::parse(R"([{"code":"unsure","message":"row 3 is doubtful"}])"));
  EXPECT_FALSE(ocr_page_failed(to_json(unsure)));
}

TEST(OcrDocuments, OnlyAPageWithAnErrorHasFailed) {
  EXPECT_FALSE(ocr_page_failed(to_json(good_page())));
  EXPECT_TRUE(ocr_page_failed(to_json(failed_page())));
  EXPECT_TRUE(ocr_page_failed("no json"));
  OcrPage tricky = good_page();
  tricky.markdown = R"("error":{"code":"x"})";
  EXPECT_FALSE(ocr_page_failed(to_json(tricky)));
}

TEST(OcrDocuments, TheReplyCountsTheGoodPages) {
  const Json reply =
      Json::parse(ocr_reply("vendor-ocr-latest", {to_json(good_page()), to_json(failed_page())}, 1234));
  EXPECT_EQ(reply.at("pages").size(), 2U);
  EXPECT_EQ(reply.at("model"), "vendor-ocr-latest");
  EXPECT_EQ(reply.at("usage_info"), (Json{{"pages_processed", 1}, {"doc_size_bytes", 1234}}));
}

TEST(OcrDocuments, OtherMembersOfAProvidersReplyAreKept) {
  OcrPage page = good_page();
  page.others = {{"tables", R"([{"id":"tbl-0.md"}])"}, {"header", R"("H")"}};
  page.images.emplace_back().id = "i";
  page.images.back().others = {{"image_annotation", R"("{}")"}};
  page.document = {{"document_annotation", R"("{\"a\":1}")"}};
  const std::string text = to_json(page);
  const auto back = ocr_page_from_json(text);
  ASSERT_TRUE(back);
  EXPECT_EQ(to_json(*back), text);
  const auto split = without_document_members(text);
  ASSERT_TRUE(split);
  EXPECT_EQ(split->members, R"("document_annotation":"{\"a\":1}")");
  const Json left = Json::parse(split->page);
  EXPECT_FALSE(left.contains("document_members"));
  EXPECT_EQ(left["header"], "H");
  EXPECT_EQ(left["images"].back()["image_annotation"], "{}");
  EXPECT_FALSE(without_document_members(split->page));
  const Json reply = Json::parse(ocr_reply("m", {to_json(good_page()), to_json(page), to_json(page)}, 1));
  EXPECT_EQ(reply["document_annotation"], R"({"a":1})");
  for (const Json& each : reply["pages"]) EXPECT_FALSE(each.contains("document_members"));
}

TEST(OcrDocuments, TextThatLooksLikeMembersOfTheDocumentIsText) {
  OcrPage page = good_page();
  page.markdown = R"("document_members":{"a":1})";
  page.others = {{"blocks", R"([{"document_members":{"a":1}}])"}};
  EXPECT_FALSE(without_document_members(to_json(page)));
}

TEST(OcrDocuments, AnUnknownSizeIsNull) {
  const Json reply = Json::parse(ocr_reply("m", {}, -1));
  EXPECT_EQ(reply.at("pages"), Json::array());
  EXPECT_EQ(reply.at("usage_info").at("doc_size_bytes"), nullptr);
}

}  // namespace
}  // namespace millrace::schemas::ocr_test
