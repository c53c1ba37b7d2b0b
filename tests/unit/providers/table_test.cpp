// The table in the design page on providers, cell by cell. Each case names its row and column.
#include <cstdint>

#include <gtest/gtest.h>

#include "tests/unit/providers/family_cases.h"

namespace millrace::providers::table_test {
namespace {

using schemas::Json;
using testing::target_of;

// A request, and the value that the provider's request has at `place` (a JSON pointer): `expected` (JSON;
// null: nothing). `dropped` is the value of the dropped-parameters header.
struct Cell {
  const char* row;
  const char* provider;
  const char* model;
  const char* body;
  const char* place;
  const char* expected;
  const char* dropped = "";
};

void PrintTo(const Cell& cell, std::ostream* out) {
  *out << cell.row << " × " << cell.provider << " (" << cell.model << ") at " << cell.place;
}

constexpr const char* kHaiku = "claude-3-5-haiku-20241022";
constexpr const char* kSonnet = "claude-sonnet-4-5";
constexpr const char* kOpus = "claude-opus-4-7";
constexpr const char* kFlash = "gemini-2.5-flash";
constexpr const char* kGrok = "grok-3";

constexpr const char* kSystem = R"({"messages": [{"role": "system", "content": "a"},
    {"role": "developer", "content": "b"}, {"role": "user", "content": "c"}]})";
constexpr const char* kRound = R"({"messages": [{"role": "user", "content": "u", "name": "ann"},
    {"role": "assistant", "tool_calls": [
        {"id": "call_0001", "type": "function", "function": {"name": "f", "arguments": "{}"}},
        {"id": "call_0002", "type": "function", "function": {"name": "g", "arguments": "{}"}}]},
    {"role": "tool", "tool_call_id": "call_0001", "content": "r"},
    {"role": "tool", "tool_call_id": "call_0002", "content": "s"}]})";
constexpr const char* kImage = R"({"messages": [{"role": "user", "content": [
    {"type": "image_url", "image_url": {"url": "data:image/png;base64,QUJD"}},
    {"type": "image_url", "image_url": {"url": "https://h/a.png"}}]}]})";
constexpr const char* kPdf = R"({"messages": [{"role": "user", "content": [
    {"type": "file", "file": {"filename": "a.pdf", "file_data": "data:application/pdf;base64,QUJD"}}]}]})";
constexpr const char* kTools = R"({"tools": [{"type": "function", "function": {"name": "f", "parameters":
    {"type": "object", "properties": {"q": {"type": "string"}}, "additionalProperties": false}}}]})";
constexpr const char* kSchema =
    R"({"type": "object", "properties": {"q": {"type": "string"}}, "additionalProperties": false})";
constexpr const char* kLooseTools = R"({"tools": [
    {"type": "function", "function": {"name": "a", "parameters": {"type": "object"}}},
    {"type": "function", "function": {"name": "b", "parameters": {"properties": null, "required": null}}},
    {"type": "function", "function": {"name": "c"}}, {"type": "custom", "custom": {"name": "d"}}]})";
constexpr const char* kNoArguments = R"({"type": "object", "properties": {}})";
constexpr const char* kRequired = R"({"tools": [{"type": "function", "function": {"name": "f", "parameters":
    {"type": "object", "properties": {"q": {"type": "string"}}}}}], "tool_choice": "required"})";
constexpr const char* kOneByOne = R"({"tools": [{"type": "function", "function": {"name": "f"}}],
    "parallel_tool_calls": false})";
constexpr const char* kFormat = R"({"response_format": {"type": "json_schema", "json_schema": {"name": "n",
    "schema": {"type": "object"}}}})";
constexpr const char* kNamedFormat =
    R"({"response_format": {"type": "json_schema", "json_schema": {"name": "n",
    "schema": {"type": "object", "properties": {"q": {"type": "integer", "minimum": 1}}}}}})";
constexpr const char* kBudget = R"({"thinking": {"type": "enabled", "budget_tokens": 2000}})";
constexpr const char* kThinkingOff = R"({"thinking": {"type": "disabled"}})";
constexpr const char* kEffort = R"({"reasoning_effort": "high"})";
constexpr const char* kOwn = R"({"generation_config": {"topK": 3}, "safety_settings": [{"category": "c",
    "threshold": "t"}], "tool_config": {"functionCallingConfig": {"mode": "ANY"}}})";
constexpr const char* kSearch = R"({"search_parameters": {"mode": "on"}})";
constexpr const char* kUser = R"({"user": "u"})";
constexpr const char* kMost = R"({"max_completion_tokens": 9})";
constexpr const char* kHot = R"({"temperature": 1.9})";
constexpr const char* kSampling = R"({"top_p": 0.5, "top_k": 3})";
constexpr const char* kStop = R"({"stop": ["a", " "]})";
constexpr const char* kPenalties = R"({"presence_penalty": 1, "frequency_penalty": 0.5})";
constexpr const char* kBias = R"({"logit_bias": {"1": 2}})";
constexpr const char* kLogprobs = R"({"logprobs": true, "top_logprobs": 2})";
constexpr const char* kSeed = R"({"seed": 7})";
constexpr const char* kOwnLost = "generation_config, safety_settings, tool_config";

const Cell kMessageCells[] = {
    {"system", "anthropic", kHaiku, kSystem, "/system",
     R"([{"type": "text", "text": "a"}, {"type": "text", "text": "b"}])"},
    {"system", "gemini", kFlash, kSystem, "/systemInstruction/parts", R"([{"text": "a"}, {"text": "b"}])"},
    {"system", "xai", kGrok, kSystem, "/messages/1/role", R"("developer")"},
    {"system", "mistral", "m", kSystem, "/messages/1/role", R"("system")"},
    {"system", "groq", "m", kSystem, "/messages/1/role", R"("developer")"},
    {"system", "ollama", "m", kSystem, "/messages/1/role", R"("system")"},
    {"system", "vllm", "m", kSystem, "/messages/1/role", R"("system")"},
    {"system", "llamacpp", "m", kSystem, "/messages/1/role", R"("system")"},

    {"roles", "anthropic", kHaiku, kRound, "/messages/2",
     R"({"role": "user", "content": [{"type": "tool_result", "tool_use_id": "call_0001", "content": "r"},
         {"type": "tool_result", "tool_use_id": "call_0002", "content": "s"}]})",
     "messages.name"},
    {"roles", "gemini", kFlash, kRound, "/contents/2",
     R"({"role": "user", "parts": [
         {"functionResponse": {"id": "call_0001", "name": "f", "response": {"result": "r"}}},
         {"functionResponse": {"id": "call_0002", "name": "g", "response": {"result": "s"}}}]})",
     "messages.name"},
    {"roles", "gemini", kFlash, kRound, "/contents/1/role", R"("model")", "messages.name"},
    {"roles", "xai", kGrok, kRound, "/messages/2/role", R"("tool")"},
    {"roles", "mistral", "m", kRound, "/messages/2/role", R"("tool")", "messages.name"},
    {"roles", "mistral", "m", kRound, "/messages/0/name", nullptr, "messages.name"},
    {"roles", "groq", "m", kRound, "/messages/0/name", nullptr, "messages.name"},
    {"roles", "groq", "m", kRound, "/messages/2/tool_call_id", R"("call_0001")", "messages.name"},
    {"roles", "vllm", "m", kRound, "/messages/0/name", R"("ann")"},

    {"images", "anthropic", kHaiku, kImage, "/messages/0/content",
     R"([{"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "QUJD"}},
         {"type": "image", "source": {"type": "url", "url": "https://h/a.png"}}])"},
    {"images", "anthropic", kHaiku, kPdf, "/messages/0/content/0/type", R"("document")"},
    {"images", "gemini", kFlash, kImage, "/contents/0/parts",
     R"([{"inlineData": {"mimeType": "image/png", "data": "QUJD"}},
         {"fileData": {"mimeType": "image/png", "fileUri": "https://h/a.png"}}])"},
    {"images", "xai", kGrok, kImage, "/messages/0/content/0/type", R"("image_url")"},
    {"images", "mistral", "m", kImage, "/messages/0/content/1/image_url/url", R"("https://h/a.png")"},
    {"images", "groq", "m", kImage, "/messages/0/content/0/image_url/url", R"("data:image/png;base64,QUJD")"},
    {"images", "ollama", "m", kImage, "/messages/0/content/0/type", R"("image_url")"},
};

const Cell kSamplingCells[] = {
    {"max_tokens", "anthropic", kHaiku, kMost, "/max_tokens", "9"},
    {"max_tokens", "anthropic", kHaiku, "{}", "/max_tokens", "8192"},
    {"max_tokens", "gemini", kFlash, kMost, "/generationConfig/maxOutputTokens", "9"},
    {"max_tokens", "xai", kGrok, kMost, "/max_completion_tokens", "9"},
    {"max_tokens", "mistral", "m", kMost, "/max_tokens", "9"},
    {"max_tokens", "groq", "m", kMost, "/max_completion_tokens", "9"},
    {"max_tokens", "ollama", "m", kMost, "/max_tokens", "9"},
    {"max_tokens", "vllm", "m", kMost, "/max_tokens", "9"},
    {"max_tokens", "llamacpp", "m", kMost, "/max_tokens", "9"},

    {"temperature", "anthropic", kHaiku, kHot, "/temperature", "1.0", "temperature;clamped"},
    {"temperature", "anthropic", kOpus, kHot, "/temperature", nullptr, "temperature"},
    {"temperature", "gemini", kFlash, kHot, "/generationConfig/temperature", "1.9"},
    {"temperature", "xai", kGrok, kHot, "/temperature", "1.9"},
    {"temperature", "mistral", "m", kHot, "/temperature", "1.5", "temperature;clamped"},
    {"temperature", "groq", "m", R"({"temperature": 0})", "/temperature", "1e-8", "temperature;clamped"},
    {"temperature", "vllm", "m", kHot, "/temperature", "1.9"},

    {"top_p, top_k", "anthropic", kHaiku, kSampling, "/top_k", "3"},
    {"top_p, top_k", "gemini", kFlash, kSampling, "/generationConfig", R"({"topP": 0.5, "topK": 3})"},
    {"top_p, top_k", "xai", kGrok, kSampling, "/top_k", nullptr, "top_k"},
    {"top_p, top_k", "mistral", "m", kSampling, "/top_k", nullptr, "top_k"},
    {"top_p, top_k", "groq", "m", kSampling, "/top_p", "0.5", "top_k"},
    {"top_p, top_k", "vllm", "m", kSampling, "/top_k", "3"},
    {"top_p, top_k", "llamacpp", "m", kSampling, "/top_k", "3"},
    {"top_p, top_k", "ollama", "m", kSampling, "/top_k", nullptr, "top_k"},

    {"stop", "anthropic", kHaiku, kStop, "/stop_sequences", R"(["a"])", "stop;clamped"},
    {"stop", "gemini", kFlash, kStop, "/generationConfig/stopSequences", R"(["a", " "])"},
    {"stop", "xai", kGrok, kStop, "/stop", R"(["a", " "])"},
    {"stop", "xai", "grok-4", kStop, "/stop", nullptr, "stop"},
    {"stop", "mistral", "m", kStop, "/stop", R"(["a", " "])"},
    {"stop", "groq", "m", kStop, "/stop", R"(["a", " "])"},
    {"stop", "ollama", "m", kStop, "/stop", R"(["a", " "])"},

    {"seed", "anthropic", kHaiku, kSeed, "/seed", nullptr, "seed"},
    {"seed", "gemini", kFlash, kSeed, "/generationConfig/seed", "7"},
    {"seed", "xai", kGrok, kSeed, "/seed", "7"},
    {"seed", "mistral", "m", kSeed, "/random_seed", "7"},
    {"seed", "groq", "m", kSeed, "/seed", "7"},
    {"seed", "llamacpp", "m", kSeed, "/seed", "7"},

    {"penalties", "anthropic", kHaiku, kPenalties, "/presence_penalty", nullptr,
     "frequency_penalty, presence_penalty"},
    {"penalties", "gemini", kFlash, kPenalties, "/generationConfig",
     R"({"presencePenalty": 1, "frequencyPenalty": 0.5})"},
    {"penalties", "xai", kGrok, kPenalties, "/presence_penalty", "1"},
    {"penalties", "xai", "grok-4", kPenalties, "/presence_penalty", nullptr,
     "frequency_penalty, presence_penalty"},
    {"penalties", "mistral", "m", kPenalties, "/frequency_penalty", "0.5"},
    {"penalties", "groq", "m", kPenalties, "/frequency_penalty", "0.5"},
    {"penalties", "vllm", "m", kPenalties, "/frequency_penalty", "0.5"},
    {"logit_bias", "anthropic", kHaiku, kBias, "/logit_bias", nullptr, "logit_bias"},
    {"logit_bias", "gemini", kFlash, kBias, "/logit_bias", nullptr, "logit_bias"},
    {"logit_bias", "xai", kGrok, kBias, "/logit_bias", nullptr, "logit_bias"},
    {"logit_bias", "mistral", "m", kBias, "/logit_bias", nullptr, "logit_bias"},
    {"logit_bias", "groq", "m", kBias, "/logit_bias", nullptr, "logit_bias"},
    {"logit_bias", "vllm", "m", kBias, "/logit_bias", R"({"1": 2})"},
    {"logprobs", "anthropic", kHaiku, kLogprobs, "/logprobs", nullptr, "logprobs, top_logprobs"},
    {"logprobs", "gemini", kFlash, kLogprobs, "/generationConfig",
     R"({"responseLogprobs": true, "logprobs": 2})"},
    {"logprobs", "xai", kGrok, kLogprobs, "/top_logprobs", "2"},
    {"logprobs", "mistral", "m", kLogprobs, "/logprobs", nullptr, "logprobs, top_logprobs"},
    {"logprobs", "groq", "m", kLogprobs, "/logprobs", nullptr, "logprobs, top_logprobs"},
    {"logprobs", "vllm", "m", kLogprobs, "/top_logprobs", "2"},

    {"user", "anthropic", kHaiku, kUser, "/metadata/user_id", R"("u")"},
    {"user", "gemini", kFlash, kUser, "/user", nullptr, "user"},
    {"user", "xai", kGrok, kUser, "/user", R"("u")"},
    {"user", "mistral", "m", kUser, "/user", nullptr, "user"},
    {"user", "groq", "m", kUser, "/user", R"("u")"},
    {"user", "vllm", "m", kUser, "/user", R"("u")"},
};

const Cell kReasoningCells[] = {
    {"thinking", "anthropic", kSonnet, kBudget, "/thinking", R"({"type": "enabled", "budget_tokens": 2000})"},
    {"thinking", "anthropic", "claude-opus-4-6", kBudget, "/thinking", R"({"type": "adaptive"})",
     "thinking;clamped"},
    {"thinking", "anthropic", kOpus, kBudget, "/output_config/effort", R"("low")", "thinking;clamped"},
    {"thinking", "anthropic", "claude-fable-5", kThinkingOff, "/thinking", nullptr, "thinking"},
    {"thinking", "gemini", kFlash, kBudget, "/generationConfig/thinkingConfig",
     R"({"thinkingBudget": 2000, "includeThoughts": true})"},
    {"thinking", "gemini", "gemini-3-flash", kBudget, "/generationConfig/thinkingConfig/thinkingLevel",
     R"("low")", "thinking;clamped"},
    {"thinking", "xai", kGrok, kBudget, "/thinking", nullptr, "thinking"},
    {"thinking", "mistral", "m", kBudget, "/thinking", nullptr, "thinking"},
    {"thinking", "groq", "qwen/qwen3-32b", kThinkingOff, "/reasoning_effort", R"("none")",
     "thinking;clamped"},
    {"thinking", "vllm", "m", kThinkingOff, "/chat_template_kwargs", R"({"enable_thinking": false})"},

    {"reasoning_effort", "anthropic", kOpus, kEffort, "/output_config/effort", R"("high")"},
    {"reasoning_effort", "anthropic", "claude-opus-4-1", kEffort, "/thinking/budget_tokens", "24576"},
    {"reasoning_effort", "gemini", kFlash, kEffort, "/generationConfig/thinkingConfig/thinkingBudget",
     "24576"},
    {"reasoning_effort", "gemini", kFlash, R"({"reasoning_effort": "low"})",
     "/generationConfig/thinkingConfig/thinkingBudget", "1024"},
    {"reasoning_effort", "gemini", kFlash, R"({"reasoning_effort": "medium"})",
     "/generationConfig/thinkingConfig/thinkingBudget", "8192"},
    {"reasoning_effort", "gemini", "gemini-3-pro-preview", kEffort,
     "/generationConfig/thinkingConfig/thinkingLevel", R"("high")"},
    {"reasoning_effort", "xai", "grok-4.3", kEffort, "/reasoning_effort", R"("high")"},
    {"reasoning_effort", "xai", "grok-4-fast-reasoning", kEffort, "/reasoning_effort", nullptr,
     "reasoning_effort"},
    {"reasoning_effort", "mistral", "m", kEffort, "/reasoning_effort", R"("high")"},
    {"reasoning_effort", "mistral", "m", R"({"reasoning_effort": "low"})", "/reasoning_effort", nullptr,
     "reasoning_effort"},
    {"reasoning_effort", "mistral", "m", R"({"reasoning_effort": "none"})", "/reasoning_effort", R"("none")"},
    {"reasoning_effort", "groq", "openai/gpt-oss-20b", kEffort, "/reasoning_effort", R"("high")"},
    {"reasoning_effort", "groq", "llama-3.3", kEffort, "/reasoning_effort", nullptr, "reasoning_effort"},
    {"reasoning_effort", "vllm", "m", kEffort, "/reasoning_effort", R"("high")"},
};

const Cell kToolCells[] = {
    {"tools", "anthropic", kHaiku, kTools, "/tools/0/input_schema", kSchema},
    {"tools", "gemini", kFlash, kTools, "/tools/0/functionDeclarations/0/parameters",
     R"({"type": "object", "properties": {"q": {"type": "string"}}})"},
    {"tools", "openai", "gpt-4o", kTools, "/tools/0/function/parameters", kSchema},
    {"tools", "openai", "gpt-4o", kLooseTools, "/tools/0/function/parameters", kNoArguments},
    {"tools", "openai", "gpt-4o", kLooseTools, "/tools/1/function/parameters", kNoArguments},
    {"tools", "openai", "gpt-4o", kLooseTools, "/tools/2/function/parameters", nullptr},
    {"tools", "azure", "gpt-4o", kLooseTools, "/tools/0/function/parameters", kNoArguments},
    {"tools", "vllm", "m", kLooseTools, "/tools/0/function/parameters", R"({"type": "object"})"},
    {"tools", "xai", kGrok, kTools, "/tools/0/function/parameters", kSchema},
    {"tools", "mistral", "m", kTools, "/tools/0/function/parameters", kSchema},
    {"tools", "groq", "m", kTools, "/tools/0/function/parameters", kSchema},
    {"tools", "llamacpp", "m", kTools, "/tools/0/function/parameters", kSchema},

    {"tool_choice", "anthropic", kHaiku, kRequired, "/tool_choice", R"({"type": "any"})"},
    {"tool_choice", "gemini", kFlash, kRequired, "/toolConfig/functionCallingConfig", R"({"mode": "ANY"})"},
    {"tool_choice", "xai", kGrok, kRequired, "/tool_choice", R"("required")"},
    {"tool_choice", "mistral", "m", kRequired, "/tool_choice", R"("any")"},
    {"tool_choice", "groq", "m", kRequired, "/tool_choice", R"("required")"},
    {"tool_choice", "vllm", "m", kRequired, "/tool_choice", R"("required")"},

    {"parallel_tool_calls", "anthropic", kHaiku, kOneByOne, "/tool_choice",
     R"({"type": "auto", "disable_parallel_tool_use": true})"},
    {"parallel_tool_calls", "gemini", kFlash, kOneByOne, "/parallel_tool_calls", nullptr,
     "parallel_tool_calls"},
    {"parallel_tool_calls", "xai", kGrok, kOneByOne, "/parallel_tool_calls", "false"},
    {"parallel_tool_calls", "mistral", "m", kOneByOne, "/parallel_tool_calls", "false"},
    {"parallel_tool_calls", "groq", "m", kOneByOne, "/parallel_tool_calls", "false"},
    {"parallel_tool_calls", "vllm", "m", kOneByOne, "/parallel_tool_calls", "false"},

    {"response_format", "anthropic", kSonnet, kFormat, "/output_config", nullptr, "response_format;clamped"},
    {"response_format", "anthropic", kSonnet, kNamedFormat, "/output_config/format",
     R"({"type": "json_schema", "schema": {"type": "object", "properties": {"q": {"type": "integer",
         "description": "Must be at least 1."}}, "additionalProperties": false}})",
     "response_format;clamped"},
    {"response_format", "gemini", kFlash, kFormat, "/generationConfig",
     R"({"responseMimeType": "application/json", "responseJsonSchema": {"type": "object"}})"},
    {"response_format", "xai", kGrok, kFormat, "/response_format/type", R"("json_schema")"},
    {"response_format", "mistral", "m", kFormat, "/response_format/type", R"("json_schema")"},
    {"response_format", "groq", "m", kFormat, "/response_format/type", R"("json_schema")"},
    {"response_format", "vllm", "m", kFormat, "/response_format/type", R"("json_schema")"},

    {"generation_config", "anthropic", kHaiku, kOwn, "/generation_config", nullptr, kOwnLost},
    {"generation_config", "gemini", kFlash, kOwn, "/generationConfig/topK", "3"},
    {"safety_settings", "gemini", kFlash, kOwn, "/safetySettings",
     R"([{"category": "c", "threshold": "t"}])"},
    {"tool_config", "gemini", kFlash, kOwn, "/toolConfig/functionCallingConfig/mode", R"("ANY")"},
    {"generation_config", "xai", kGrok, kOwn, "/generation_config", nullptr, kOwnLost},
    {"generation_config", "mistral", "m", kOwn, "/generation_config", nullptr, kOwnLost},
    {"generation_config", "groq", "m", kOwn, "/safety_settings", nullptr, kOwnLost},
    {"generation_config", "ollama", "m", kOwn, "/tool_config", nullptr, kOwnLost},

    {"search_parameters", "anthropic", kSonnet, kSearch, "/tools/0/name", R"("web_search")"},
    {"search_parameters", "gemini", kFlash, kSearch, "/tools", R"([{"googleSearch": {}}])"},
    {"search_parameters", "xai", kGrok, kSearch, "/search_parameters", R"({"mode": "on"})"},
    {"search_parameters", "mistral", "m", kSearch, "/search_parameters", nullptr, "search_parameters"},
    {"search_parameters", "groq", "m", kSearch, "/search_parameters", nullptr, "search_parameters"},
    {"search_parameters", "vllm", "m", kSearch, "/search_parameters", nullptr, "search_parameters"},
};

std::vector<std::string> sorted(const std::string& names) {
  std::vector<std::string> all;
  for (std::size_t at = 0; at < names.size();) {
    const std::size_t end = std::min(names.find(", ", at), names.size());
    all.push_back(names.substr(at, end - at));
    at = end + 2;
  }
  std::ranges::sort(all);
  return all;
}

class ProviderTable : public ::testing::TestWithParam<Cell> {};

TEST_P(ProviderTable, EachCellIsWhatTheProviderGets) {
  const Cell& cell = GetParam();
  const WireRequest wire = testing::sent(target_of(cell.provider, cell.model), cell.body);
  const Json expected = Json::parse(wire.body);
  const Json::json_pointer place(cell.place);
  if (cell.expected == nullptr) {
    EXPECT_FALSE(expected.contains(place)) << wire.body;
  } else {
    ASSERT_TRUE(expected.contains(place)) << wire.body;
    EXPECT_EQ(Json::parse(cell.expected), expected[place]) << wire.body;
  }
  EXPECT_EQ(sorted(cell.dropped), sorted(schemas::dropped_text(wire.dropped)));
}

INSTANTIATE_TEST_SUITE_P(Messages, ProviderTable, ::testing::ValuesIn(kMessageCells));
INSTANTIATE_TEST_SUITE_P(Sampling, ProviderTable, ::testing::ValuesIn(kSamplingCells));
INSTANTIATE_TEST_SUITE_P(Reasoning, ProviderTable, ::testing::ValuesIn(kReasoningCells));
INSTANTIATE_TEST_SUITE_P(Tools, ProviderTable, ::testing::ValuesIn(kToolCells));

struct Endpoint {
  const char* provider;
  const char* url;
  const char* header;
  const char* value;
};

TEST(ProviderEndpoints, EachHasItsAddressAndItsCredential) {
  const Endpoint endpoints[] = {
      {"openai", "https://api.openai.com/v1/chat/completions", "Authorization", "Bearer k"},
      {"anthropic", "https://api.anthropic.com/v1/messages", "x-api-key", "k"},
      {"gemini", "https://generativelanguage.googleapis.com/v1beta/models/m:generateContent",
       "x-goog-api-key", "k"},
      {"xai", "https://api.x.ai/v1/chat/completions", "Authorization", "Bearer k"},
      {"mistral", "https://api.mistral.ai/v1/chat/completions", "Authorization", "Bearer k"},
      {"groq", "https://api.groq.com/openai/v1/chat/completions", "Authorization", "Bearer k"},
      {"ollama", "http://127.0.0.1:11434/v1/chat/completions", "Authorization", "Bearer k"},
      {"vllm", "http://127.0.0.1:8000/v1/chat/completions", "Authorization", "Bearer k"},
      {"llamacpp", "http://127.0.0.1:8080/v1/chat/completions", "Authorization", "Bearer k"}};
  for (const Endpoint& each : endpoints) {
    const Target target = target_of(each.provider, "m");
    EXPECT_EQ(each.url, target.base_url + testing::sent(target, "{}").path);
    const auto [name, value] = translation(target.preset->family).credential(base::Secret("k"));
    EXPECT_EQ(each.header, name) << each.provider;
    EXPECT_EQ(each.value, value) << each.provider;
  }
}

// Choices of one call. If a provider's call makes one choice, several calls are made.
TEST(ProviderChoices, SeveralChoicesAreRequestedOrFannedOut) {
  for (const char* provider : {"openai", "xai", "mistral", "vllm", "llamacpp"})
    EXPECT_EQ(Support::kNative, support(target_of(provider, "m"), "n")) << provider;
  for (const char* provider : {"anthropic", "gemini", "groq", "ollama"})
    EXPECT_EQ(Support::kEmulated, support(target_of(provider, "m"), "n")) << provider;
}

// Finish reasons: the provider's term and ours.
struct Finish {
  const char* provider;
  const char* reply;  // %s stands for the term
  const char* given;
  const char* expected;
};
constexpr const char* kOpenaiReply =
    R"({"choices": [{"index": 0, "message": {"content": "a"}, "finish_reason": "%s"}]})";
constexpr const char* kAnthropicReply =
    R"({"content": [{"type": "text", "text": "a"}], "stop_reason": "%s"})";
constexpr const char* kGeminiReply =
    R"({"candidates": [{"content": {"parts": [{"text": "a"}]}, "finishReason": "%s"}]})";
constexpr const char* kGeminiCall =
    R"({"candidates": [{"content": {"parts": [{"functionCall": {"name": "f"}}]}, "finishReason": "%s"}]})";

TEST(ProviderEnds, EveryFinishReasonIsMapped) {
  const Finish ends[] = {{"anthropic", kAnthropicReply, "end_turn", "stop"},
                         {"anthropic", kAnthropicReply, "stop_sequence", "stop"},
                         {"anthropic", kAnthropicReply, "pause_turn", "pause_turn"},
                         {"anthropic", kAnthropicReply, "max_tokens", "length"},
                         {"anthropic", kAnthropicReply, "tool_use", "tool_calls"},
                         {"anthropic", kAnthropicReply, "refusal", "content_filter"},
                         {"gemini", kGeminiReply, "STOP", "stop"},
                         {"gemini", kGeminiReply, "MAX_TOKENS", "length"},
                         {"gemini", kGeminiReply, "SAFETY", "content_filter"},
                         {"gemini", kGeminiReply, "RECITATION", "content_filter"},
                         {"gemini", kGeminiReply, "LANGUAGE", "content_filter"},
                         {"gemini", kGeminiReply, "BLOCKLIST", "content_filter"},
                         {"gemini", kGeminiReply, "PROHIBITED_CONTENT", "content_filter"},
                         {"gemini", kGeminiReply, "SPII", "content_filter"},
                         {"gemini", kGeminiReply, "IMAGE_SAFETY", "content_filter"},
                         {"gemini", kGeminiReply, "MALFORMED_FUNCTION_CALL", nullptr},
                         {"gemini", kGeminiCall, "STOP", "tool_calls"},
                         {"mistral", kOpenaiReply, "model_length", "length"},
                         {"openai", kOpenaiReply, "content_filter", "content_filter"}};
  for (const Finish& each : ends) {
    std::string body = each.reply;
    body.replace(body.find("%s"), 2, each.given);
    const Target target = target_of(each.provider, "m");
    const auto reply = translation(target.preset->family).chat_reply(target, body);
    ASSERT_EQ(each.expected != nullptr, reply.has_value()) << each.given;
    if (!reply) continue;
    EXPECT_EQ(each.expected, reply->choices.at(0).finish_reason) << each.provider << " " << each.given;
  }
}

}  // namespace
}  // namespace millrace::providers::table_test
