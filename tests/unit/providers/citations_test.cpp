#include "ai/providers/citations.h"

#include <gtest/gtest.h>

#include "schemas/json/json_body.h"
#include "tests/unit/providers/family_cases.h"

// Citations in answers, in the providers' published formats, as OpenAI's `annotations`.
namespace millrace::providers::citations_test {
namespace {

using schemas::Json;
using testing::events_of;
using testing::read_stream;
using testing::target_of;

const Target& claude() {
  static const Target target = target_of("anthropic", "claude-sonnet-4-5");
  return target;
}
const Target& gemini() {
  static const Target target = target_of("gemini", "gemini-2.5-flash");
  return target;
}

Json cited(int begin, int end, const char* url, const char* title) {
  return {{"type", "url_citation"},
          {"url_citation", {{"start_index", begin}, {"end_index", end}, {"url", url}, {"title", title}}}};
}

Json annotations_of(const Target& target, const std::string& body) {
  const auto reply = translation(target.preset->family).chat_reply(target, body);
  EXPECT_TRUE(reply) << reply.error().message;
  return reply && reply->choices.at(0).extra.is_object()
             ? reply->choices[0].extra.value("annotations", Json())
             : Json();
}

// The annotations of a whole stream. They must be the same wherever its bytes are split.
Json streamed_annotations(const Target& target, const std::vector<std::string>& events) {
  std::vector<std::string> lines;
  for (const std::string& event : events) lines.push_back(Json::parse(event).dump());
  const std::string bytes = events_of(lines);
  Json first;
  for (std::size_t cut = 0; cut <= bytes.size(); cut += 7) {
    schemas::ChatAssembly assembly;
    const auto streamed = read_stream(target, bytes, cut);
    EXPECT_TRUE(streamed.status && streamed.complete);
    for (const auto& piece : streamed.pieces) assembly.add(piece);
    const Json extra = assembly.take().choices.at(0).extra;
    const Json annotations = extra.is_object() ? extra.value("annotations", Json()) : Json();
    if (cut == 0) first = annotations;
    EXPECT_EQ(annotations, first) << "split at " << cut;
  }
  return first;
}

constexpr const char* kSearched = R"([
    {"type": "text", "text": "Ü: "},
    {"type": "server_tool_use", "id": "s", "name": "web_search", "input": {}},
    {"type": "web_search_tool_result", "tool_use_id": "s", "content": []},
    {"type": "text", "text": "mills turn", "citations": [
      {"type": "web_search_result_location", "url": "https://a/1", "title": "A", "cited_text": "x", "encrypted_index": "e"},
      {"type": "web_search_result_location", "url": "https://b/", "title": null, "cited_text": "y", "encrypted_index": "e"},
      {"type": "web_search_result_location", "url": "https://a/1", "title": "A", "cited_text": "z", "encrypted_index": "e"}]},
    {"type": "text", "text": "."},
    {"type": "text", "text": "End", "citations": [
      {"type": "search_result_location", "source": "https://c/", "title": "C"},
      {"type": "char_location", "document_index": 0, "cited_text": "of a document"}]}])";

Json searched() {
  return {cited(3, 13, "https://a/1", "A"), cited(3, 13, "https://b/", "https://b/"),
          cited(14, 17, "https://c/", "C")};
}

TEST(AnthropicCitations, ABlocksCitationsAreForItsCharactersAndEachSourceOnce) {
  EXPECT_EQ(
      annotations_of(claude(), std::string(R"({"type": "message", "stop_reason": "end_turn", "content": )") +
                                   kSearched + "}"),
      searched());
}

TEST(AnthropicCitations, AStreamSendsThemWhenTheirBlockEnds) {
  std::vector<std::string> events{R"({"type": "message_start", "message": {"id": "m"}})"};
  const Json blocks = Json::parse(kSearched);
  for (std::size_t i = 0; i < blocks.size(); ++i) {
    const auto add = [&](Json event) { events.push_back((event["index"] = i, event).dump()); };
    const bool is_text = blocks[i]["type"] == "text";
    Json start = blocks[i];
    if (is_text) start = {{"type", "text"}, {"text", ""}, {"citations", Json::array()}};
    add({{"type", "content_block_start"}, {"content_block", start}});
    if (is_text) {
      for (const Json& each : blocks[i].value("citations", Json::array()))
        add({{"type", "content_block_delta"}, {"delta", {{"type", "citations_delta"}, {"citation", each}}}});
      add({{"type", "content_block_delta"},
           {"delta", {{"type", "text_delta"}, {"text", blocks[i]["text"]}}}});
    }
    add({{"type", "content_block_stop"}});
  }
  events.emplace_back(R"({"type": "message_delta", "delta": {"stop_reason": "end_turn"}})");
  events.emplace_back(R"({"type": "message_stop"})");
  EXPECT_EQ(streamed_annotations(claude(), events), searched());
}

TEST(AnthropicCitations, OddOnesDoNoHarm) {
  for (const char* odd : {"7", "[7]", R"([{}])", R"([{"url": 7}])", R"([{"url": "javascript:x"}])"})
    EXPECT_TRUE(annotations_of(
                    claude(),
                    std::string(R"({"content": [{"type": "text", "text": "a", "citations": )") + odd + "}]}")
                    .is_null())
        << odd;
}

// "Ü: mills turn." has 15 bytes and 14 characters.
constexpr const char* kGrounding = R"("groundingMetadata": {"webSearchQueries": ["mills"],
    "groundingChunks": [{"web": {"uri": "https://a/1", "title": "a"}}, {"web": {"uri": "https://b/"}},
                        {"retrievedContext": {"uri": "gs://bucket/c", "title": "c"}}],
    "groundingSupports": [
      {"segment": {"startIndex": 4, "endIndex": 14, "text": "mills turn"}, "groundingChunkIndices": [0, 1, 2, 9]},
      {"segment": {"endIndex": 2, "text": "Ü"}, "groundingChunkIndices": [0]}, {"segment": 7}, 7]})";

Json grounded() {
  return {cited(3, 13, "https://a/1", "a"), cited(3, 13, "https://b/", "https://b/"),
          cited(0, 1, "https://a/1", "a")};
}

std::string candidate(const std::string& parts, const std::string& more) {
  return R"({"candidates": [{"content": {"role": "model", "parts": [)" + parts + "]}" +
         (more.empty() ? "" : ", ") + more + "}]}";
}

TEST(GeminiCitations, ASegmentsBytesAreCharactersOfTheContent) {
  const std::string finish = R"(, "finishReason": "STOP")";
  EXPECT_EQ(annotations_of(gemini(), candidate(R"({"text": "Ü: mills turn."})", kGrounding + finish)),
            grounded());
}

// The offsets may lie beyond the text received so far.
TEST(GeminiCitations, AStreamsAreOfAllItsTextAndEachIsSentOnce) {
  EXPECT_EQ(
      streamed_annotations(
          gemini(), {candidate(R"({"text": "why", "thought": true}, {"text": "Ü: mills "})", kGrounding),
                     candidate(R"({"text": "turn."})", ""),
                     candidate(R"({"text": ""})", std::string(kGrounding) + R"(, "finishReason": "STOP")")}),
      grounded());
}

TEST(GeminiCitations, ASegmentOfALaterPartBeginsThere) {
  const std::string more = R"("finishReason": "STOP", "groundingMetadata": {
      "groundingChunks": [{"web": {"uri": "https://a/", "title": "a"}}],
      "groundingSupports": [{"segment": {"partIndex": 2, "startIndex": 1, "endIndex": 3}, "groundingChunkIndices": [0]}]})";
  EXPECT_EQ(
      annotations_of(
          gemini(), candidate(R"({"text": "why", "thought": true}, {"text": "ab"}, {"text": "cdef"})", more)),
      (Json{cited(3, 5, "https://a/", "a")}));
}

TEST(GeminiCitations, SourcesWithoutASegmentAreOfTheWholeAnswer) {
  const std::string more = R"("finishReason": "STOP", "groundingMetadata": {
      "groundingChunks": [{"web": {"uri": "https://a/", "title": "a"}}, {}, 7]})";
  EXPECT_EQ(annotations_of(gemini(), candidate(R"({"text": "Ü!"})", more)),
            (Json{cited(0, 2, "https://a/", "a")}));
}

TEST(GeminiCitations, RecitedSourcesAreCitedToo) {
  const std::string more = R"("finishReason": "STOP", "citationMetadata": {
      "citationSources": [{"startIndex": 1, "endIndex": 99, "uri": "https://a/"}, {"uri": 7}, 7]})";
  EXPECT_EQ(annotations_of(gemini(), candidate(R"({"text": "abc"})", more)),
            (Json{cited(1, 3, "https://a/", "https://a/")}));
}

TEST(Citations, PastTheirBoundTheyAreLeftOut) {
  Citations citations;
  for (std::size_t i = 0; i < kCitationsMax + 5; ++i) citations.add(i, i + 1, "https://a/", "a");
  Json extra;
  citations.add_to(extra);
  EXPECT_EQ(extra["annotations"].size(), kCitationsMax);
  Json none;
  citations.add_to(none);
  EXPECT_TRUE(none.is_null());
}

TEST(Citations, ASourceWhoseUrlIsTooLongIsLeftOutAndALongTitleCut) {
  Citations citations;
  citations.add(0, 1, "https://a.example/" + std::string(kCitedUrlMax, 'a'), "A");
  EXPECT_TRUE(citations.empty());
  citations.add(0, 1, "https://a.example/", std::string(2 * kCitedTitleMax, 'a'));
  Json extra;
  citations.add_to(extra);
  const Json& citation = extra["annotations"][0]["url_citation"];
  EXPECT_LE(citation["title"].get_ref<const std::string&>().size(), kCitedTitleMax);
}

TEST(CharacterIndex, ACharacterIsFoundByItsByteHoweverTheTextCame) {
  std::string text;
  for (int i = 0; i < 2'000; ++i) text += i % 3 == 0 ? "ü" : "a";
  CharacterIndex meter;
  for (std::size_t at = 0; at < text.size(); at += 5) meter.add(std::string_view(text).substr(at, 5));
  EXPECT_EQ(meter.bytes(), text.size());
  EXPECT_EQ(meter.characters(), 2'000U);
  EXPECT_EQ(meter.characters_before(0), 0U);
  EXPECT_EQ(meter.characters_before(3), 2U);
  EXPECT_EQ(meter.characters_before(2'400), 1'800U);
  EXPECT_EQ(meter.characters_before(9'999'999), 2'000U);
}

}  // namespace
}  // namespace millrace::providers::citations_test
