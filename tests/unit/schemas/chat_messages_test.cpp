#include <gtest/gtest.h>

#include "schemas/chat/chat_request.h"
#include "tests/unit/schemas/both_ways.h"

namespace millrace::schemas::chat_messages_test {
namespace {

using schemas::Json;

tl::expected<ChatRequest, Refusal> parse(const std::string& members) {
  std::string body = R"({"model":"a/b",)" + members + "}";
  return testing::parse_both_ways(std::move(body));
}
// The messages that the model receives; null: the request is refused.
Json told(const std::string& members) {
  auto got = parse(members);
  EXPECT_TRUE(got.has_value()) << members << got.error().error.message;
  return got.has_value() ? got->body["messages"] : Json();
}
struct Wrong {
  std::string messages;
  std::string param;
  std::string type;
};

TEST(ChatMessages, TakeEveryRoleAndPart) {
  const std::string messages =
      R"([{"role":"system","content":"s"},{"role":"developer","content":[{"type":"text","text":"d"}]},)"
      R"({"role":"user","name":"n","content":[{"type":"text","text":"t"},)"
      R"({"type":"image_url","image_url":{"url":"https://e.org/a.png","detail":"low"}},)"
      R"({"type":"image_url","image_url":{"url":"data:image/png;base64,AAAA"}},)"
      R"({"type":"input_audio","input_audio":{"data":"AAAA","format":"wav"}},)"
      R"({"type":"file","file":{"file_data":"data:application/pdf;base64,AAAA","filename":"a.pdf"}}]},)"
      R"({"role":"assistant","tool_calls":[{"id":"c","type":"function","function":{"name":"f","arguments":"{}"}},)"
      R"({"id":"d","type":"custom","custom":{"name":"g","input":"x"}}]},)"
      R"({"role":"tool","tool_call_id":"c","content":"1"},)"
      R"({"role":"assistant","content":[{"type":"refusal","refusal":"no"},)"
      R"({"type":"thinking","thinking":[{"type":"text","text":"hm"},{"type":"reference","reference_ids":[1]}]},)"
      R"({"type":"thinking","thinking":"hm"}]}])";
  EXPECT_EQ(told(R"("messages":)" + messages), Json::parse(messages));
}

TEST(ChatMessages, LoseNullsAndEmptyLists) {
  EXPECT_EQ(told(R"("messages":[{"role":"assistant","content":null,"tool_calls":[],"name":null}])"),
            Json::parse(R"([{"role":"assistant"}])"));
}

TEST(ChatMessages, AnImageMayBeAPlainUrl) {
  EXPECT_EQ(
      told(R"("messages":[{"role":"user","content":[{"type":"image_url","image_url":"https://e.org/a"}]}])"),
      Json::parse(
          R"([{"role":"user","content":[{"type":"image_url","image_url":{"url":"https://e.org/a"}}]}])"));
}

TEST(ChatMessages, CannotBringWhatTheGatewayPutsThere) {
  EXPECT_EQ(told(R"("messages":[{"role":"assistant","content":"x","millrace_continuity":"y"}])"),
            Json::parse(R"([{"role":"assistant","content":"x"}])"));
  EXPECT_EQ(told(R"("input":[{"role":"assistant","content":"x","millrace_continuity":"y"}])"),
            Json::parse(R"([{"role":"assistant","content":"x"}])"));
}

TEST(ChatMessages, RefuseWrongShapesNamingTheirPlace) {
  const Wrong table[] = {
      {R"([{"role":"user"}])", "messages.0.content", "missing"},
      {R"([{"role":"user","content":null}])", "messages.0.content", "string_type"},
      {R"([{"role":"user","content":[{"type":"image_url","image_url":"data:image/png;base64,!!!!"}]}])",
       "messages.0.content.0.image_url", "url_parsing"},
      {R"([{"role":"user","content":[{"type":"image_url","image_url":{"url":"data:image/png;base64,"}}]}])",
       "messages.0.content.0.image_url.url", "url_parsing"},
      {R"([{"role":"user","content":[{"type":"file","file":{"file_data":"data:a/b;base64,AAA\u00e9"}}]}])",
       "messages.0.content.0.file.file_data", "url_parsing"},
      {R"([{"role":"user","content":7}])", "messages.0.content", "string_type"},
      {R"([{"role":"user","content":[]}])", "messages.0.content", "too_short"},
      {R"([{"role":"user","content":["x"]}])", "messages.0.content.0", "dict_type"},
      {R"([{"role":"user","content":[{}]}])", "messages.0.content.0.type", "missing"},
      {R"([{"role":"user","content":[{"type":"video"}]}])", "messages.0.content.0.type", "literal_error"},
      {R"([{"role":"user","content":[{"type":"text"}]}])", "messages.0.content.0.text", "missing"},
      {R"([{"role":"system","content":[{"type":"image_url","image_url":"https://e.org"}]}])",
       "messages.0.content.0.type", "literal_error"},
      {R"([{"role":"user","content":[{"type":"refusal","refusal":"x"}]}])", "messages.0.content.0.type",
       "literal_error"},
      {R"([{"role":"user","content":[{"type":"image_url","image_url":{"url":"file:///etc/passwd"}}]}])",
       "messages.0.content.0.image_url.url", "url_parsing"},
      {R"([{"role":"user","content":[{"type":"image_url","image_url":{"url":"https://u:pw@e.org/a"}}]}])",
       "messages.0.content.0.image_url.url", "url_parsing"},
      {R"([{"role":"user","content":[{"type":"image_url","image_url":{}}]}])",
       "messages.0.content.0.image_url.url", "missing"},
      {R"([{"role":"user","content":[{"type":"image_url","image_url":{"url":"data:image/png,AA"}}]}])",
       "messages.0.content.0.image_url.url", "url_parsing"},
      {R"([{"role":"user","content":[{"type":"input_audio","input_audio":{"data":"AA"}}]}])",
       "messages.0.content.0.input_audio.format", "missing"},
      {R"([{"role":"user","content":[{"type":"file","file":{}}]}])", "messages.0.content.0.file", "missing"},
      {R"([{"role":"user","content":[{"type":"file","file":{"file_url":"ftp://e.org/a.pdf"}}]}])",
       "messages.0.content.0.file.file_url", "url_parsing"},
      {R"([{"role":"user","content":[{"type":"file","file":{"file_url":"https://u:p@e.org/a.pdf"}}]}])",
       "messages.0.content.0.file.file_url", "url_parsing"},
      {R"([{"role":"user","content":[{"type":"thinking","thinking":[]}]}])", "messages.0.content.0.type",
       "literal_error"},
      {R"([{"role":"assistant","content":[{"type":"thinking"}]}])", "messages.0.content.0.thinking",
       "missing"},
      {R"([{"role":"assistant","content":[{"type":"thinking","thinking":7}]}])",
       "messages.0.content.0.thinking", "list_type"},
      {R"([{"role":"assistant","content":[{"type":"thinking","thinking":[{"type":"text","text":7}]}]}])",
       "messages.0.content.0.thinking.0.text", "string_type"},
      {R"([{"role":"tool","content":"x"}])", "messages.0.tool_call_id", "missing"},
      {R"([{"role":"user","content":"x","tool_calls":[]}])", "messages.0.tool_calls", "value_error"},
      {R"([{"role":"assistant","tool_calls":[{"id":"c"}]}])", "messages.0.tool_calls.0.function", "missing"},
      {R"([{"role":"assistant","tool_calls":[{"id":"c","function":{"name":"f","arguments":{}}}]}])",
       "messages.0.tool_calls.0.function.arguments", "string_type"},
      {R"([{"role":"function","content":"x"}])", "messages.0.name", "missing"},
      {R"([{"role":"function","name":"f","content":"x"}])", "messages.0.name", "value_error"},
      {R"([{"role":"user","content":"a"},{"role":"user","content":7}])", "messages.1.content", "string_type"},
  };
  for (const Wrong& each : table) {
    const auto got = parse(R"("messages":)" + each.messages);
    ASSERT_FALSE(got.has_value()) << each.messages;
    EXPECT_EQ(got.error().error.param, each.param) << each.messages;
    EXPECT_EQ(got.error().problems[0].type, each.type) << each.messages;
  }
}

TEST(ChatMessages, OfTheOldFormBecomeCallsAndResults) {
  EXPECT_EQ(told(R"("messages":[{"role":"user","content":"q"},)"
                 R"({"role":"assistant","content":null,"function_call":{"name":"f","arguments":"{}"}},)"
                 R"({"role":"function","name":"f","content":"42"}])"),
            Json::parse(R"([{"role":"user","content":"q"},{"role":"assistant","tool_calls":[{"id":"call_1",)"
                        R"("type":"function","function":{"name":"f","arguments":"{}"}}]},)"
                        R"({"role":"tool","tool_call_id":"call_1","content":"42"}])"));
}

std::vector<std::string> urls(const std::string& members) {
  const auto got = parse(members);
  EXPECT_TRUE(got.has_value()) << members << got.error().error.message;
  std::vector<std::string> out;
  if (!got) return out;
  for (const NamedUrl& each : got->urls) out.push_back(each.field + " " + each.url);
  return out;
}

TEST(ChatMessages, WhatAProviderFetchesIsNamedByItsPlaceInTheRequest) {
  using List = std::vector<std::string>;
  EXPECT_EQ(
      urls(
          R"("instructions":"i","messages":[{"role":"user","content":[{"type":"text","text":"t"},)"
          R"({"type":"image_url","image_url":{"url":"https://e.org/a"}},)"
          R"({"type":"image_url","image_url":{"url":"data:image/png;base64,AAAA"}},)"
          R"({"type":"image_url","image_url":"http://10.0.0.1/b"}]},)"
          R"({"role":"tool","tool_call_id":"c","content":[{"type":"image_url","image_url":"https://e.org/c"}]}])"),
      (List{"messages.0.content.1.image_url.url https://e.org/a",
            "messages.0.content.3.image_url http://10.0.0.1/b",
            "messages.1.content.0.image_url https://e.org/c"}));
  EXPECT_EQ(
      urls(R"("messages":[{"role":"user","content":[)"
           R"({"type":"file","file":{"file_data":"https://e.org/a.pdf","file_url":"https://e.org/b.pdf"}},)"
           R"({"type":"file","file":{"file_url":"https://e.org/alone.pdf"}},)"
           R"({"type":"file","file":{"file_id":"HTTPS://e.org/c","filename":"https://e.org/not"}},)"
           R"({"type":"file","file":{"file_id":"file-1","file_data":"AAAA"}}]}])"),
      (List{"messages.0.content.0.file.file_data https://e.org/a.pdf",
            "messages.0.content.0.file.file_url https://e.org/b.pdf",
            "messages.0.content.1.file.file_url https://e.org/alone.pdf",
            "messages.0.content.2.file.file_id HTTPS://e.org/c"}));
  EXPECT_EQ(urls(R"("input":[{"role":"user","content":[{"type":"input_image","image_url":"https://e.org/a"},)"
                 R"({"type":"input_file","file_data":"AAAA","file_url":"https://e.org/b"}]},)"
                 R"({"type":"function_call","call_id":"c","name":"f","arguments":"{}"},)"
                 R"({"type":"function_call_output","call_id":"c","output":[)"
                 R"({"type":"input_image","image_url":{"url":"https://e.org/d"}}]}])"),
            (List{"input.0.content.0.image_url https://e.org/a", "input.0.content.1.file_url https://e.org/b",
                  "input.2.output.0.image_url.url https://e.org/d"}));
}

TEST(ChatInput, BecomesMessages) {
  EXPECT_EQ(told(R"("input":"q")"), Json::parse(R"([{"role":"user","content":"q"}])"));
  EXPECT_EQ(told(R"("messages":[],"input":"q")"), Json::parse(R"([{"role":"user","content":"q"}])"));
  EXPECT_EQ(
      told(R"("input":[{"role":"user","content":[{"type":"input_text","text":"t"},)"
           R"({"type":"input_image","image_url":"https://e.org/a","detail":"high"},)"
           R"({"type":"input_file","file_data":"data:application/pdf;base64,AA","filename":"f"},)"
           R"({"type":"input_file","file_url":"https://e.org/a.pdf"}]},)"
           R"({"type":"message","role":"assistant","id":"m","status":"completed",)"
           R"("content":[{"type":"output_text","text":"o"}]},)"
           R"({"type":"function_call","call_id":"a","name":"f","arguments":"{}"},)"
           R"({"type":"function_call","call_id":"b","name":"g","arguments":"{}"},)"
           R"({"type":"function_call_output","call_id":"a","output":"1"},)"
           R"({"type":"function_call_output","call_id":"b","output":[{"type":"input_text","text":"2"}]}])"),
      Json::parse(R"([{"role":"user","content":[{"type":"text","text":"t"},)"
                  R"({"type":"image_url","image_url":{"url":"https://e.org/a","detail":"high"}},)"
                  R"({"type":"file","file":{"file_data":"data:application/pdf;base64,AA","filename":"f"}},)"
                  R"({"type":"file","file":{"file_url":"https://e.org/a.pdf"}}]},)"
                  R"({"role":"assistant","content":[{"type":"text","text":"o"}],"tool_calls":[)"
                  R"({"id":"a","type":"function","function":{"name":"f","arguments":"{}"}},)"
                  R"({"id":"b","type":"function","function":{"name":"g","arguments":"{}"}}]},)"
                  R"({"role":"tool","tool_call_id":"a","content":"1"},)"
                  R"({"role":"tool","tool_call_id":"b","content":[{"type":"text","text":"2"}]}])"));
}

TEST(ChatInput, ReportsWhatItCannotConvert) {
  const auto got = parse(R"("input":[{"type":"reasoning","summary":[]},{"role":"user","content":"q"}])");
  ASSERT_TRUE(got.has_value());
  EXPECT_EQ(got->dropped, (DroppedParams{{.name = "input.reasoning"}}));
  const auto both = parse(R"("messages":"m","input":"q")");
  ASSERT_TRUE(both.has_value());
  EXPECT_EQ(both->body["messages"][0]["content"], "m");
  EXPECT_EQ(both->dropped, (DroppedParams{{.name = "input"}}));
}

TEST(ChatInput, RefusesWrongItemsNamingTheirPlace) {
  const Wrong table[] = {
      {R"([7])", "input.0", "dict_type"},
      {R"([{"type":"item_reference","id":"x"}])", "input.0.type", "literal_error"},
      {R"([{"role":"tool","content":"x"}])", "input.0.role", "literal_error"},
      {R"([{"role":"user"}])", "input.0.content", "missing"},
      {R"([{"type":"function_call","call_id":"a","name":"f"}])", "input.0.arguments", "missing"},
      {R"([{"type":"function_call_output","call_id":"a"}])", "input.0.output", "missing"},
  };
  for (const Wrong& each : table) {
    const auto got = parse(R"("input":)" + each.messages);
    ASSERT_FALSE(got.has_value()) << each.messages;
    EXPECT_EQ(got.error().error.param, each.param) << each.messages;
    EXPECT_EQ(got.error().problems[0].type, each.type) << each.messages;
  }
}

TEST(ChatInstructions, TheStrongestSystemPromptCounts) {
  struct Case {
    std::string members, prompt;
    std::vector<std::string> dropped;
  };
  const std::string messages =
      R"("messages":[{"role":"system","content":"m"},{"role":"user","content":"q"}])";
  const Case table[] = {
      {messages, "m", {}},
      {messages + R"(,"system":"s")", "s", {"messages.system"}},
      {messages + R"(,"system_instruction":"s")", "s", {"messages.system"}},
      {messages + R"(,"system":"s","system_instruction":"t")",
       "s",
       {"system_instruction", "messages.system"}},
      {messages + R"(,"system":"s","instructions":"i")", "i", {"system", "messages.system"}},
      {R"("messages":"q","instructions":"i")", "i", {}},
      {R"("input":"q","system":"s","instructions":"")", "s", {}},
  };
  for (const Case& each : table) {
    const auto got = parse(each.members);
    ASSERT_TRUE(got.has_value()) << each.members;
    EXPECT_EQ(got->body["messages"],
              Json({{{"role", "system"}, {"content", each.prompt}}, {{"role", "user"}, {"content", "q"}}}))
        << each.members;
    for (const char* name : {"system", "system_instruction", "instructions"})
      EXPECT_FALSE(got->body.contains(name)) << name;
    std::vector<std::string> dropped;
    for (const DroppedParam& one : got->dropped) dropped.push_back(one.name);
    EXPECT_EQ(dropped, each.dropped) << each.members;
  }
}

TEST(ChatMessages, LongTextsAreKeptWhole) {
  const std::string text(100'000, 'x');
  const std::string url = "data:image/png;base64," + std::string(100'000, 'A');
  const Json messages = {{{"role", "user"},
                          {"content",
                           {{{"type", "text"}, {"text", text + "\n"}},
                            {{"type", "image_url"}, {"image_url", {{"url", url}}}}}}}};
  EXPECT_EQ(told(R"("messages":)" + messages.dump()), messages);
}

}  // namespace
}  // namespace millrace::schemas::chat_messages_test
