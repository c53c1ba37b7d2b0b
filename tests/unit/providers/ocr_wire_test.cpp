#include <gtest/gtest.h>

#include "ai/providers/ocr.h"

namespace millrace::providers::ocr_wire_test {
namespace {

using schemas::Json;

Target target_of(std::string_view provider) {
  Target target;
  target.preset = preset_named(provider);
  target.model = "mistral-ocr-2505";
  return target;
}
OcrCall order_of(std::string media_type) {
  return {std::move(media_type), [] { return base::Result<std::string>("%PDF-1.4"); }, {0, 2}, true};
}
Json body_of(const OcrCall& order) {
  const auto wire = ocr_request(target_of("mistral"), order);
  EXPECT_TRUE(wire);
  EXPECT_EQ("/ocr", wire->path);
  return Json::parse(wire->body);
}

TEST(OcrWire, ADocumentIsSentAsADataUriWithItsPages) {
  EXPECT_EQ(body_of(order_of("application/pdf")),
            Json::parse(R"({"model":"mistral-ocr-2505","document":{"type":"document_url",)"
                        R"("document_url":"data:application/pdf;base64,JVBERi0xLjQ="},"pages":[0,2],)"
                        R"("include_image_base64":true})"));
}

TEST(OcrWire, AnImageHasNoPages) {
  EXPECT_EQ(body_of(order_of("image/png")),
            Json::parse(R"({"model":"mistral-ocr-2505","document":{"type":"image_url",)"
                        R"("image_url":"data:image/png;base64,JVBERi0xLjQ="},"include_image_base64":true})"));
}

TEST(OcrWire, ADocumentThatCannotBeReadIsNotSent) {
  OcrCall order = order_of("application/pdf");
  order.bytes = [] { return base::Result<std::string>(base::error(base::Code::kInternal, "gone")); };
  const auto wire = ocr_request(target_of("mistral"), order);
  ASSERT_FALSE(wire);
  EXPECT_EQ("gone", wire.error().message);
}

TEST(OcrWire, PagesAreReadWithTheirPicturesAndMeasures) {
  const auto pages = ocr_reply(
      target_of("mistral"),
      R"({"pages":[{"index":2,"markdown":"# A","images":[{"id":"img-0.jpeg","top_left_x":1,"top_left_y":2,)"
      R"("bottom_right_x":30.0,"bottom_right_y":40,"image_base64":"data:image/jpeg;base64,AA"},{"id":"b"}],)"
      R"("dimensions":{"dpi":200,"height":2200,"width":1700}},{"index":0,"markdown":"","images":[],)"
      R"("dimensions":null}],"model":"m","usage_info":{"pages_processed":2}})");
  ASSERT_TRUE(pages);
  ASSERT_EQ(2u, pages->size());
  EXPECT_EQ(Json::parse(schemas::to_json(pages->at(0))),
            Json::parse(R"({"index":2,"markdown":"# A","images":[{"id":"img-0.jpeg","top_left_x":1,)"
                        R"("top_left_y":2,"bottom_right_x":30,"bottom_right_y":40,)"
                        R"("image_base64":"data:image/jpeg;base64,AA"},{"id":"b","top_left_x":null,)"
                        R"("top_left_y":null,"bottom_right_x":null,"bottom_right_y":null}],)"
                        R"("dimensions":{"dpi":200,"height":2200,"width":1700}})"));
  EXPECT_FALSE(pages->at(1).dimensions);
}

TEST(OcrWire, WhatIsNoPageIsLeftOutAndWhatIsNoReplyIsTheProvidersFault) {
  const auto pages =
      ocr_reply(target_of("mistral"),
                R"({"pages":[7,{"index":-1,"markdown":"x"},{"index":1},{"index":5000,"markdown":""},)"
                R"({"index":1,"markdown":"y","dimensions":{"dpi":99999999999}}]})");
  ASSERT_TRUE(pages);
  ASSERT_EQ(1u, pages->size());
  EXPECT_EQ("y", pages->at(0).markdown);
  EXPECT_FALSE(pages->at(0).dimensions);
  for (const char* body : {"", "[]", "{}", R"({"pages":{}})", "<html>"}) {
    const auto none = ocr_reply(target_of("mistral"), body);
    ASSERT_FALSE(none) << body;
    EXPECT_EQ(base::Code::kUpstream, none.error().code);
  }
}

TEST(OcrWire, OnlyOpenaiShapedApisHaveIt) {
  EXPECT_FALSE(no_ocr(target_of("mistral")));
  EXPECT_FALSE(no_ocr(target_of("vllm")));
  for (const char* provider : {"anthropic", "gemini", "mock"})
    EXPECT_TRUE(no_ocr(target_of(provider))) << provider;
}

TEST(OcrWire, OptionsAreSentAsTheyCame) {
  OcrCall order = order_of("image/png");
  order.options = R"({"table_format":"html","document_annotation_format":{"type":"json_schema"}})";
  const Json body = body_of(order);
  EXPECT_EQ(body["table_format"], "html");
  EXPECT_EQ(body["document_annotation_format"], (Json{{"type", "json_schema"}}));
  EXPECT_EQ(body["include_image_base64"], true);
  order.options = "{}";
  EXPECT_EQ(body_of(order).size(), 3u);
}

TEST(OcrWire, NothingOfAReplyIsLost) {
  const Json page = Json::parse(
      R"j({"index":0,"markdown":"[tbl-0.md](tbl-0.md)","images":[{"id":"i","top_left_x":1,"top_left_y":2,)j"
      R"j("bottom_right_x":3,"bottom_right_y":4,"image_annotation":"{}"}],)j"
      R"j("dimensions":{"dpi":200,"height":2,"width":1},)j"
      R"j("tables":[{"id":"tbl-0.md","content":"|a|","format":"markdown"}],"hyperlinks":["https://e.org"],)j"
      R"j("header":"H","footer":"F","blocks":[{"type":"text","top_left_x":1}],)j"
      R"j("confidence_scores":{"average_page_confidence_score":0.9}})j");
  Json given = page;
  for (const char* ours : {"warnings", "error", "document_members"}) given[ours] = {{"code", 1}};
  const auto pages = ocr_reply(target_of("mistral"),
                               Json{{"pages", {given, {{"index", 1}, {"markdown", ""}, {"header", nullptr}}}},
                                    {"model", "m"},
                                    {"usage_info", Json::object()},
                                    {"document_annotation", "{}"}}
                                   .dump());
  ASSERT_TRUE(pages);
  const auto first = schemas::without_document_members(schemas::to_json(pages->at(0)));
  ASSERT_TRUE(first);
  EXPECT_EQ(first->members, R"("document_annotation":"{}")");
  EXPECT_EQ(Json::parse(first->page), page);
  EXPECT_FALSE(schemas::ocr_page_failed(first->page));
  EXPECT_EQ(Json::parse(schemas::to_json(pages->at(1))).size(), 4u);
}

}  // namespace
}  // namespace millrace::providers::ocr_wire_test
