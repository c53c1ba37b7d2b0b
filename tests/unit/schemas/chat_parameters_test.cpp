#include <gtest/gtest.h>

#include "schemas/chat/chat_request.h"
#include "tests/unit/schemas/both_ways.h"

// Every parameter of the specification's table, in its order: accepted at its bounds, refused beyond them.
namespace millrace::schemas::chat_parameters_test {
namespace {

using schemas::Json;

struct Wrong {
  std::string value;
  std::string loc;   // path below the body, joined by dots
  std::string type;  // type of the problem
};
struct Parameter {
  std::string name;
  std::vector<std::string> right;
  std::vector<Wrong> wrong;
  std::string beside = {};  // other members that it requires
};

std::string text_of(std::size_t size) { return "\"" + std::string(size, 'x') + "\""; }
std::string pairs(int count) {
  Json out = Json::object();
  for (int i = 0; i < count; ++i) out[std::to_string(i)] = "v";
  return out.dump();
}

const std::vector<Parameter> kParameters{
    {"model",
     {R"("openai/gpt")", R"(["a/b","c/d"])", R"({"model":"a/b"})", text_of(256)},
     {{"null", "model", "missing"},
      {"7", "model", "string_type"},
      {R"("")", "model", "string_too_short"},
      {text_of(257), "model", "string_too_long"},
      {"[]", "model", "too_short"},
      {R"(["a",7])", "model.1", "string_type"},
      {Json(std::vector<std::string>(17, "a")).dump(), "model", "too_long"},
      {"{}", "model.model", "missing"},
      {R"({"model":"a","settings":7})", "model.settings", "dict_type"}}},
    {"messages",
     {R"("hi")", R"([{"role":"user","content":"hi"}])"},
     {{R"("")", "messages", "too_short"},
      {"[]", "messages", "too_short"},
      {"null", "messages", "missing"},
      {"7", "messages", "list_type"},
      {"[7]", "messages.0", "dict_type"},
      {R"([{"content":"x"}])", "messages.0.role", "missing"},
      {R"([{"role":"king","content":"x"}])", "messages.0.role", "literal_error"}}},
    {"input",
     {R"("hi")", R"([{"role":"user","content":"hi"}])"},
     {{"7", "input", "list_type"}, {R"([{"role":"king","content":""}])", "input.0.role", "literal_error"}}},
    {"temperature",
     {"0", "2", "0.7"},
     {{"-0.01", "temperature", "greater_than_equal"},
      {"2.01", "temperature", "less_than_equal"},
      {R"("1")", "temperature", "float_type"}}},
    {"top_p", {"0", "1"}, {{"-0.1", "top_p", "greater_than_equal"}, {"1.1", "top_p", "less_than_equal"}}},
    {"max_tokens",
     {"1", "1000000"},
     {{"0", "max_tokens", "greater_than_equal"}, {"1.5", "max_tokens", "int_type"}}},
    {"max_completion_tokens",
     {"1"},
     {{"0", "max_completion_tokens", "greater_than_equal"},
      {R"("5")", "max_completion_tokens", "int_type"},
      {"9223372036854775808", "max_completion_tokens", "less_than_equal"}}},
    {"presence_penalty",
     {"-2", "2"},
     {{"-2.1", "presence_penalty", "greater_than_equal"}, {"2.1", "presence_penalty", "less_than_equal"}}},
    {"frequency_penalty",
     {"-2", "2"},
     {{"-2.1", "frequency_penalty", "greater_than_equal"}, {"3", "frequency_penalty", "less_than_equal"}}},
    {"logit_bias",
     {R"({"50256":-100,"1":100})", "{}"},
     {{R"({"1":-101})", "logit_bias.1", "greater_than_equal"},
      {R"({"1":101})", "logit_bias.1", "less_than_equal"},
      {"[]", "logit_bias", "dict_type"}}},
    {"stop",
     {R"("x")", R"(["a","b","c","d"])", "[]"},
     {{R"(["a","b","c","d","e"])", "stop", "too_long"},
      {R"("")", "stop", "string_too_short"},
      {R"(["a",""])", "stop.1", "string_too_short"},
      {"7", "stop", "string_type"}}},
    {"thinking",
     {R"({"type":"enabled","budget_tokens":1})", R"({"type":"enabled"})", R"({"type":"disabled"})",
      R"({"type":"adaptive"})"},
     {{R"({"type":"on"})", "thinking.type", "literal_error"},
      {R"({"type":"enabled","budget_tokens":0})", "thinking.budget_tokens", "greater_than_equal"},
      {"true", "thinking", "dict_type"},
      {"{}", "thinking.type", "missing"}}},
    {"top_k", {"0", "40"}, {{"-1", "top_k", "greater_than_equal"}, {"1.5", "top_k", "int_type"}}},
    {"system", {R"("s")"}, {{"[]", "system", "string_type"}}},
    {"instructions", {R"("s")"}, {{"7", "instructions", "string_type"}}},
    {"generation_config", {R"({"topK":1})"}, {{"[]", "generation_config", "dict_type"}}},
    {"safety_settings",
     {R"([{"category":"c","threshold":"t"}])", "[]"},
     {{"{}", "safety_settings", "list_type"},
      {R"([{"category":"c"}])", "safety_settings.0.threshold", "missing"}}},
    {"tool_config", {R"({"function_calling_config":{"mode":"ANY"}})"}, {{"7", "tool_config", "dict_type"}}},
    {"disable_automatic_function_calling",
     {"true", "false"},
     {{"1", "disable_automatic_function_calling", "bool_type"}}},
    {"seed",
     {"0", "-9223372036854775808", "9223372036854775807"},
     {{"0.5", "seed", "int_type"}, {"9223372036854775808", "seed", "less_than_equal"}}},
    {"user", {R"("u")"}, {{"7", "user", "string_type"}}},
    {"n",
     {"1", "128"},
     {{"0", "n", "greater_than_equal"}, {"129", "n", "less_than_equal"}, {"2.0", "n", "int_type"}}},
    {"stream", {"true", "false"}, {{R"("true")", "stream", "bool_type"}}},
    {"stream_options",
     {R"({"include_usage":true,"include_obfuscation":false})", "{}"},
     {{R"({"include_usage":1})", "stream_options.include_usage", "bool_type"},
      {"true", "stream_options", "dict_type"}},
     R"(,"stream":true)"},
    {"response_format",
     {R"({"type":"text"})", R"({"type":"json_object"})",
      R"({"type":"json_schema","json_schema":{"name":"n","schema":{},"strict":true}})"},
     {{R"({"type":"xml"})", "response_format.type", "literal_error"},
      {R"({"type":"json_schema"})", "response_format.json_schema", "missing"},
      {R"({"type":"json_schema","json_schema":{}})", "response_format.json_schema.name", "missing"},
      {R"("json")", "response_format", "dict_type"}}},
    {"tools",
     {R"([{"type":"function","function":{"name":"f","parameters":{"type":"object"}}}])",
      R"([{"type":"custom","custom":{"name":"f"}}])", "[]"},
     {{R"([{"type":"function"}])", "tools.0.function", "missing"},
      {R"([{"type":"function","function":{}}])", "tools.0.function.name", "missing"},
      {R"([{"type":"function","function":{"name":"f","parameters":[]}}])", "tools.0.function.parameters",
       "dict_type"},
      {R"([{"type":"shell"}])", "tools.0.type", "literal_error"},
      {"{}", "tools", "list_type"}}},
    {"tool_choice",
     {R"("none")", R"("auto")", R"("required")", R"("any")", R"({"type":"function","function":{"name":"f"}})",
      R"({"type":"function","name":"f"})",
      R"({"type":"allowed_tools","allowed_tools":{"mode":"auto","tools":[{"type":"function","function":{"name":"f"}}]}})"},
     {{R"("some")", "tool_choice", "literal_error"},
      {R"({"type":"function","function":{"name":"g"}})", "tool_choice", "value_error"},
      {R"({"type":"function"})", "tool_choice.function", "missing"}},
     R"(,"tools":[{"type":"function","function":{"name":"f"}}])"},
    {"parallel_tool_calls", {"true", "false"}, {{"0", "parallel_tool_calls", "bool_type"}}},
    {"functions",
     {R"([{"name":"f","parameters":{}}])"},
     {{R"([{}])", "functions.0.name", "missing"}, {"{}", "functions", "list_type"}}},
    {"function_call",
     {R"("none")", R"("auto")", R"({"name":"f"})"},
     {{R"("required")", "function_call", "literal_error"},
      {R"({"name":"g"})", "function_call", "value_error"}},
     R"(,"functions":[{"name":"f"}])"},
    {"logprobs", {"true", "false"}, {{"1", "logprobs", "bool_type"}}},
    {"top_logprobs",
     {"0", "20"},
     {{"-1", "top_logprobs", "greater_than_equal"}, {"21", "top_logprobs", "less_than_equal"}},
     R"(,"logprobs":true)"},
    {"reasoning_effort",
     {R"("low")", R"("medium")", R"("high")", R"("minimal")"},
     {{R"("High")", "reasoning_effort", "string_pattern_mismatch"},
      {"3", "reasoning_effort", "string_type"}}},
    {"audio", {R"({"format":"wav","voice":"alloy"})"}, {{R"("wav")", "audio", "dict_type"}}},
    {"modalities",
     {R"(["text"])", R"(["text","audio"])"},
     {{R"("text")", "modalities", "list_type"}, {"[7]", "modalities.0", "string_type"}},
     R"(,"audio":{"format":"wav","voice":"alloy"})"},
    {"prediction",
     {R"({"type":"content","content":"x"})", R"({"type":"content","content":[{"type":"text","text":"x"}]})"},
     {{R"({"type":"content"})", "prediction.content", "missing"},
      {R"({"type":"other","content":"x"})", "prediction.type", "literal_error"}}},
    {"metadata",
     {pairs(16), "{" + text_of(64) + ":" + text_of(512) + "}"},
     {{pairs(17), "metadata", "too_long"},
      {"{" + text_of(65) + ":\"v\"}", "metadata." + std::string(64, 'x'), "string_too_long"},
      {R"({"k":)" + text_of(513) + "}", "metadata.k", "string_too_long"},
      {R"({"k":7})", "metadata.k", "string_type"}}},
    {"store", {"true", "false"}, {{"1", "store", "bool_type"}}},
    {"service_tier",
     {R"("auto")", R"("default")", R"("priority")"},
     {{R"("AUTO")", "service_tier", "string_pattern_mismatch"}}},
    {"prompt_cache_key", {R"("k")"}, {{"7", "prompt_cache_key", "string_type"}}},
    {"safety_identifier", {R"("k")"}, {{"7", "safety_identifier", "string_type"}}},
    {"verbosity",
     {R"("low")", R"("medium")", R"("high")"},
     {{R"("")", "verbosity", "string_pattern_mismatch"}}},
    {"web_search_options", {"{}"}, {{"true", "web_search_options", "dict_type"}}},
    {"search_parameters", {R"({"mode":"auto"})"}, {{"[]", "search_parameters", "dict_type"}}},
    {"deferred", {"true", "false"}, {{R"("yes")", "deferred", "bool_type"}}},
    {"mcp_servers",
     {R"(["https://example.org/mcp","team/slug",{"slug":"s","version":"1"},{"url":"http://e.org","name":"n"}])",
      R"("slug")", R"({"url":"https://e.org"})", "[]"},
     {{R"([{"command":"sh","slug":"s"}])", "mcp_servers.0.command", "extra_forbidden"},
      {R"(["stdio://x"])", "mcp_servers.0", "url_parsing"},
      {R"([{"url":"file:///etc/passwd"}])", "mcp_servers.0.url", "url_parsing"},
      {R"([{"url":"https://u:pw@e.org/"}])", "mcp_servers.0.url", "url_parsing"},
      {R"(["https://u@e.org/"])", "mcp_servers.0", "url_parsing"},
      {R"([{}])", "mcp_servers.0", "value_error"},
      {R"([{"slug":"s","url":"https://e.org"}])", "mcp_servers.0", "value_error"},
      {Json(std::vector<std::string>(17, "a")).dump(), "mcp_servers", "too_long"},
      {"7", "mcp_servers", "string_type"}}},
    {"guardrails", {"[{}]"}, {{"{}", "guardrails", "list_type"}, {"[7]", "guardrails.0", "dict_type"}}},
    {"handoff_config", {"{}"}, {{"[]", "handoff_config", "dict_type"}}},
    {"model_attributes",
     {R"({"a/b":{"speed":0,"cost":1.0}})"},
     {{R"({"a":{"speed":1.1}})", "model_attributes.a.speed", "less_than_equal"},
      {R"({"a":7})", "model_attributes.a", "dict_type"}}},
    {"agent_attributes",
     {R"({"accuracy":0.5})"},
     {{R"({"accuracy":-0.1})", "agent_attributes.accuracy", "greater_than_equal"}}},
    {"max_turns",
     {"1", "100"},
     {{"0", "max_turns", "greater_than_equal"}, {"101", "max_turns", "less_than_equal"}}},
    {"auto_execute_tools", {"true", "false"}, {{"0", "auto_execute_tools", "bool_type"}}},
};

// A request with the parameter and the required members.
std::string request(const Parameter& parameter, const std::string& value) {
  std::string out = "{\"" + parameter.name + "\":" + value + parameter.beside;
  if (parameter.name != "model") out += R"(,"model":"a/b")";
  if (parameter.name != "messages" && parameter.name != "input") out += R"(,"messages":"hi")";
  return out + "}";
}

TEST(ChatParameters, AreTheTablesRowsInItsOrder) {
  const auto rows = chat_request_fields();
  ASSERT_EQ(kParameters.size(), 52u);
  ASSERT_EQ(rows.size(), 52u);
  for (std::size_t i = 0; i < rows.size(); ++i) EXPECT_EQ(rows[i].name, kParameters[i].name);
}

TEST(ChatParameters, AreAcceptedUpToTheirBounds) {
  for (const Parameter& each : kParameters) {
    for (const std::string& value : each.right) {
      std::string body = request(each, value);
      const auto got = testing::parse_both_ways(body);
      EXPECT_TRUE(got.has_value()) << each.name << " " << value << ": " << got.error().error.message;
    }
  }
}

TEST(ChatParameters, CountAsAbsentWhenTheyAreNull) {
  for (const Parameter& each : kParameters) {
    if (each.name == "model" || each.name == "messages" || each.name == "input") continue;
    std::string body = request(each, "null");
    const auto got = testing::parse_both_ways(body);
    ASSERT_TRUE(got.has_value()) << each.name << got.error().error.message;
    EXPECT_FALSE(got->body.contains(each.name)) << each.name;
    EXPECT_TRUE(got->dropped.empty()) << each.name;
  }
}

TEST(ChatParameters, AreRefusedPastTheirBoundsInBothErrorForms) {
  for (const Parameter& each : kParameters) {
    ASSERT_FALSE(each.wrong.empty()) << each.name;
    for (const Wrong& wrong : each.wrong) {
      std::string body = request(each, wrong.value);
      const auto got = testing::parse_both_ways(body);
      ASSERT_FALSE(got.has_value()) << each.name << " " << wrong.value;
      ASSERT_EQ(got.error().error.code, base::Code::kInvalidField) << each.name;
      const Json reply =
          Json::parse(error_body("/v1/chat/completions", got.error().error, got.error().problems).body);
      EXPECT_EQ(reply["error"]["param"], wrong.loc) << wrong.value;
      EXPECT_EQ(reply["error"]["type"], "invalid_request_error");
      std::string loc;
      for (const Json& step : reply["detail"][0]["loc"]) loc += "." + step.get<std::string>();
      EXPECT_EQ(loc, ".body." + wrong.loc) << wrong.value;
      EXPECT_EQ(reply["detail"][0]["type"], wrong.type) << wrong.loc << " " << wrong.value;
    }
  }
}

TEST(ChatParameters, TheirSchemaMarksTheOldOnes) {
  const Json schema = json_schema(chat_request_fields());
  std::vector<std::string> old;
  for (const auto& [name, row] : schema["properties"].items())
    if (row.value("deprecated", false)) old.push_back(name);
  EXPECT_EQ(old, (std::vector<std::string>{"max_tokens", "user", "functions", "function_call"}));
  EXPECT_EQ(schema["properties"]["temperature"]["maximum"], 2);
  EXPECT_EQ(schema["required"], Json::array({"model"}));
  EXPECT_FALSE(json_schema(chat_request_more_fields())["properties"].empty());
}

}  // namespace
}  // namespace millrace::schemas::chat_parameters_test
