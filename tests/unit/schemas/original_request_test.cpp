#include "schemas/original_request.h"

#include <gtest/gtest.h>

#include "schemas/chat/chat_job.h"
#include "schemas/chat/chat_request.h"
#include "schemas/machines/execution.h"
#include "schemas/machines/machine.h"
#include "schemas/media/ocr.h"
#include "schemas/media/transcription.h"

namespace millrace::schemas::original_request_test {
namespace {

using schemas::Json;
using Places = std::vector<std::string>;

OriginalRequest asked(Kind kind, const std::string& spec, bool has_input = false,
                      std::string_view head = {}) {
  auto out = original_request(kind, spec, has_input, head);
  EXPECT_TRUE(out.has_value()) << spec;
  return out ? *std::move(out) : OriginalRequest{};
}

// The stored form of a deferred chat.
std::string kept(const Json& body) {
  std::string text = body.dump();
  auto request = read_chat_request(text);
  EXPECT_TRUE(request.has_value()) << body;
  form_body(*request);
  return chat_spec(*request);
}

Json chat_of(const Json& more) {
  Json body = {{"model", "mock/chat"}, {"messages", "Hello"}, {"deferred", true}};
  body.update(more);
  return body;
}

TEST(OriginalChats, TheReturnedRequestIsTheSame) {
  const Json body = chat_of(
      {{"model", {"mock/chat", "mock/other"}},
       {"system", "You are a miller."},
       {"temperature", 0.5},
       {"priority", 7},
       {"max_turns", 4},
       {"auto_execute_tools", false},
       {"mcp_servers", {{{"slug", "office"}, {"version", "1"}, {"name", "o"}}}},
       {"model_attributes", {{"mock/chat", {{"speed", 0.5}}}}},
       {"agent_attributes", {{"speed", 1}}},
       {"tools",
        {{{"type", "function"}, {"function", {{"name", "weather"}, {"parameters", Json::object()}}}}}},
       {"response_format", {{"type", "json_object"}}}});
  const OriginalRequest told = asked(Kind::kChat, kept(body));
  EXPECT_EQ(told.path, "/v1/chat/completions");
  EXPECT_FALSE(told.is_form);
  EXPECT_TRUE(told.left_out.empty());
  EXPECT_EQ(told.body["messages"], Json::parse(R"([{"role":"system","content":"You are a miller."},)"
                                               R"({"role":"user","content":"Hello"}])"));
  const OriginalRequest again = asked(Kind::kChat, kept(told.body));
  EXPECT_EQ(again.body, told.body);
  for (const char* name : {"priority", "max_turns", "auto_execute_tools", "model_attributes", "tools",
                           "agent_attributes", "response_format", "temperature", "model", "mcp_servers"})
    EXPECT_EQ(told.body[name], body[name]) << name;
}

TEST(OriginalChats, NeitherCredentialsNorUnknownFieldsNorQueriesAreReturned) {
  const Json picture = {{"type", "image_url"},
                        {"image_url", {{"url", "https://a.example/p.png?sig=SECRET"}}}};
  const Json text = {{"type", "text"}, {"text", "https://a.example/?q=said"}};
  const OriginalRequest told = asked(
      Kind::kChat,
      kept(
          chat_of({{"messages", Json::array({{{"role", "user"}, {"content", Json::array({text, picture})}}})},
                   {"credentials", {{"office", "SECRET"}}},
                   {"extra_headers", {{"authorization", "SECRET"}}},
                   {"mcp_servers", {"https://tools.example/mcp?key=SECRET", "office"}}})));
  const std::string all = to_json(JobId{Kind::kChat, {}}, told);
  EXPECT_EQ(all.find("SECRET"), std::string::npos) << all;
  EXPECT_EQ(told.left_out,
            (Places{"extra_headers", "messages.0.content.1.image_url.url", "mcp_servers.0.url"}));
  EXPECT_EQ(told.body["messages"][0]["content"][0], text) << "text is returned unchanged";
  EXPECT_EQ(told.body["messages"][0]["content"][1]["image_url"]["url"], "https://a.example/p.png");
  EXPECT_EQ(told.body["mcp_servers"][1]["slug"], "office");
}

TEST(OriginalChats, NeitherFilesNorRecordingsNorCredentialsOfToolsAreReturned) {
  const Json parts = Json::parse(R"([
      {"type": "file", "file": {"filename": "a.pdf", "file_data": "SECRET"}},
      {"type": "input_audio", "input_audio": {"format": "wav", "data": "SECRET"}},
      {"type": "image_url", "image_url": {"url": "https://ann:SECRET@a.example/p.png#token=SECRET"}}])");
  // A stored row may have this body although today's validation refuses it.
  const Json body = {
      {"messages", {{{"role", "user"}, {"content", parts}}}},
      {"tools", {{{"type", "mcp"}, {"authorization", "SECRET"}, {"headers", {{"x", "SECRET"}}}}}},
      {"search_parameters", {{"sources", {{{"links", {"https://a.example/feed?key=SECRET"}}}}}}}};
  Json spec = Json::parse(kept(chat_of(Json::object())));
  spec["body"].update(body);
  const OriginalRequest told = asked(Kind::kChat, spec.dump());
  EXPECT_EQ(told.body.dump().find("SECRET"), std::string::npos) << told.body;
  EXPECT_EQ(told.left_out,
            (Places{"messages.0.content.0.file.file_data", "messages.0.content.1.input_audio.data",
                    "messages.0.content.2.image_url.url", "search_parameters.sources.0.links.0",
                    "tools.0.headers", "tools.0.authorization"}));
  EXPECT_EQ(told.body["messages"][0]["content"][2]["image_url"]["url"], "https://a.example/p.png");
}

TEST(OriginalChats, APictureOfWhichNoCopyIsKeptIsNamedWhereItWas) {
  const std::string large = "data:image/png;base64," + std::string(12u << 20, 'A');
  const Json picture = {{"type", "image_url"}, {"image_url", {{"url", large}}}};
  const Json text = {{"type", "text"}, {"text", "[an image of some bytes, not kept] is what I read"}};
  std::string body =
      chat_of({{"messages", Json::array({{{"role", "user"}, {"content", Json::array({text, picture})}}})}})
          .dump();
  auto request = read_chat_request(body);
  ASSERT_TRUE(request.has_value());
  form_body(*request);
  ASSERT_TRUE(drop_large_images(*request));
  const OriginalRequest told = asked(Kind::kChat, chat_spec(*request));
  EXPECT_EQ(told.left_out, Places{"messages.0.content.1"});
  EXPECT_EQ(told.body["messages"][0]["content"][0], text);
}

TEST(OriginalDocuments, OneThatWasFetchedIsNamedAndOneThatWasSentIsLeftOut) {
  OcrSpec spec;
  spec.model = "millrace/ocr";
  spec.document_url = "https://papers.example/a.pdf?X-Signature=SECRET";
  spec.pages = {0, 3};
  spec.include_image_base64 = true;
  const OriginalRequest fetched = asked(Kind::kOcr, pack(spec));
  EXPECT_EQ(fetched.body, Json::parse(R"({"model":"millrace/ocr","pages":[0,3],"include_image_base64":true,)"
                                      R"("document":{"document_url":"https://papers.example/a.pdf"}})"));
  EXPECT_EQ(fetched.left_out, Places{"document.document_url"});
  OcrSpec small;
  small.model = "millrace/ocr";
  small.document_name = "a.pdf";
  small.inline_document = "%PDF-";
  const OriginalRequest sent = asked(Kind::kOcr, pack(small));
  EXPECT_EQ(sent.body, Json::parse(R"({"model":"millrace/ocr","document":{},"document_name":"a.pdf"})"));
  EXPECT_EQ(sent.left_out, Places{"document.document_url"});
}

Json file_of(const OriginalRequest& told) {
  return Json::parse(to_json(JobId{Kind::kOcr, {}}, told)).value("file", Json());
}

TEST(OriginalDocuments, HaveTheGivenNameAndTheMediaTypeOfTheirBytes) {
  OcrSpec spec;
  spec.model = "millrace/ocr";
  const std::string png("\x89PNG\r\n\x1a\n and more");
  EXPECT_EQ(file_of(asked(Kind::kOcr, pack(spec), true, png)), Json::parse(R"({"media_type":"image/png"})"));
  EXPECT_EQ(file_of(asked(Kind::kOcr, pack(spec))), Json::object()) << "the document's bytes are deleted";
  spec.document_name = "bill.pdf";
  spec.inline_document = "%PDF-1.7" + std::string(3000, ' ');
  EXPECT_EQ(file_of(asked(Kind::kOcr, pack(spec))),
            Json::parse(R"({"name":"bill.pdf","media_type":"application/pdf"})"));
  spec.document_url = "https://papers.example/a.pdf";
  EXPECT_EQ(file_of(asked(Kind::kOcr, pack(spec), true, png)), Json()) << "nothing was uploaded";
}

TEST(OriginalRecordings, AreFormsWithoutTheirFile) {
  TranscriptionSpec spec;
  spec.model = "whisper-1";
  spec.language = "en";
  spec.temperature = 0.5;
  spec.style = {.form = TranscriptFormat::kVerboseJson, .segments = false, .words = true};
  const OriginalRequest told = asked(Kind::kStt, to_json(spec), true);
  EXPECT_EQ(told.path, "/v1/audio/transcriptions");
  EXPECT_TRUE(told.is_form);
  EXPECT_EQ(told.body,
            Json::parse(R"({"model":"whisper-1","language":"en","temperature":0.5,)"
                        R"("response_format":"verbose_json","timestamp_granularities[]":["word"]})"));
  EXPECT_EQ(told.left_out, Places{"file"});
  spec.speakers = {
      .chunking = ChunkingStrategy{}, .names = {"agent"}, .references = {"data:audio/wav;base64,UklG"}};
  const OriginalRequest named = asked(Kind::kStt, to_json(spec), true);
  EXPECT_EQ(named.body["chunking_strategy"], "auto");
  EXPECT_EQ(named.body["known_speaker_names[]"], Json::array({"agent"}));
  EXPECT_EQ(named.left_out, (Places{"file", "known_speaker_references[]"}));
  spec.style.translate = true;
  EXPECT_EQ(asked(Kind::kStt, to_json(spec)).path, "/v1/audio/translations");
}

TEST(OriginalRecordings, HaveTheGivenNameAndTheMediaTypeOfTheirBytes) {
  TranscriptionSpec spec;
  spec.model = "whisper-1";
  spec.file_name = "talk.ogg";
  EXPECT_EQ(file_of(asked(Kind::kStt, to_json(spec), true, "OggS and more")),
            Json::parse(R"({"name":"talk.ogg","media_type":"audio/ogg"})"));
  EXPECT_EQ(file_of(asked(Kind::kStt, to_json(spec))), Json::parse(R"({"name":"talk.ogg"})"));
}

TEST(OriginalCommands, HaveNoValuesOfTheirEnvironment) {
  ExecutionSpec spec;
  spec.command = {"sh", "-c", "true"};
  spec.cwd = "/workspace/a";
  spec.env_names = {"TOKEN"};
  spec.timeout = std::chrono::milliseconds(5);
  const OriginalRequest told = asked(Kind::kExec, to_json(spec), true);
  EXPECT_EQ(told.path, "/v1/machines/" + machine_id(spec.machine) + "/executions");
  EXPECT_EQ(told.body, Json::parse(R"({"command":["sh","-c","true"],"cwd":"/workspace/a","timeout_ms":5})"));
  EXPECT_EQ(told.left_out, (Places{"env.TOKEN", "stdin"}));
}

TEST(OriginalCommands, NameTheirInputWhetherItIsKeptStillOrNot) {
  ExecutionSpec spec;
  spec.command = {"cat"};
  EXPECT_EQ(asked(Kind::kExec, to_json(spec), false).left_out, Places{});
  EXPECT_EQ(asked(Kind::kExec, to_json(spec), true).left_out, Places{"stdin"})
      << "the spec is from an older version";
  spec.has_input = true;
  EXPECT_EQ(asked(Kind::kExec, to_json(spec), false).left_out, Places{"stdin"});
  EXPECT_EQ(asked(Kind::kExec, to_json(spec), true).left_out, Places{"stdin"});
}

TEST(OriginalRequests, ReserveTheirTextTwiceAndTheValuesOfTheirTree) {
  constexpr std::size_t kMiB = std::size_t{1} << 20;
  EXPECT_GE(reply_bytes(65'000), 2 * 65'000 + 32'000 * std::size_t{100});
  EXPECT_GE(reply_bytes(16 * kMiB), 32 * kMiB);
  EXPECT_LE(reply_bytes(16 * kMiB), 48 * kMiB)
      << "the number of values in a body is limited, so the tree is too";
}

TEST(OriginalRequests, WhatIsNoSpecIsAnError) {
  for (const Kind kind : {Kind::kOcr, Kind::kStt, Kind::kChat, Kind::kExec, Kind::kMachine})
    EXPECT_FALSE(original_request(kind, "nonsense", false).has_value()) << name(kind);
}

}  // namespace
}  // namespace millrace::schemas::original_request_test
