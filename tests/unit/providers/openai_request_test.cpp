#include <algorithm>
#include <map>

#include <gtest/gtest.h>

#include "ai/providers/openai/request.h"
#include "tests/unit/providers/openai_cases.h"

namespace millrace::providers::openai_request_test {
namespace {

using schemas::Json;
using testing::request_of;
using testing::target_of;
using How = schemas::DroppedParam::How;

struct Written {
  Json body;
  schemas::DroppedParams dropped;
  bool lost(std::string_view name, How how = How::kDropped) const {
    return std::ranges::find(dropped, schemas::DroppedParam{std::string(name), how}) != dropped.end();
  }
};

Written write(const Target& target, const schemas::ChatRequest& request, bool stream = false) {
  const auto wire = translation(Family::kOpenai).chat_request(target, request, stream);
  EXPECT_TRUE(wire.has_value());
  return {Json::parse(wire->body), wire->dropped};
}
Written write(std::string_view provider, const char* model, Json body) {
  return write(target_of(provider, model), request_of(std::move(body)));
}

// A value for each parameter of the table.
const std::map<std::string, Json, std::less<>>& samples() {
  static const std::map<std::string, Json, std::less<>> all{
      {"messages", {{{"role", "user"}, {"content", "hello"}}}},
      {"temperature", 0.7},
      {"top_p", 0.9},
      {"top_k", 40},
      {"max_completion_tokens", 100},
      {"presence_penalty", 0.5},
      {"frequency_penalty", 0.5},
      {"logit_bias", {{"50256", -100}}},
      {"stop", {"###"}},
      {"thinking", {{"type", "enabled"}, {"budget_tokens", 2048}}},
      {"generation_config", {{"topK", 3}}},
      {"safety_settings", {{{"category", "c"}, {"threshold", "t"}}}},
      {"tool_config", {{"function_calling_config", {{"mode", "ANY"}}}}},
      {"seed", 7},
      {"user", "u-1"},
      {"n", 2},
      {"response_format", {{"type", "json_object"}}},
      {"tools", {{{"type", "function"}, {"function", {{"name", "f"}}}}}},
      {"tool_choice", "auto"},
      {"parallel_tool_calls", false},
      {"logprobs", true},
      {"top_logprobs", 2},
      {"reasoning_effort", "high"},
      {"audio", {{"voice", "alloy"}, {"format", "wav"}}},
      {"modalities", {"text", "audio"}},
      {"prediction", {{"type", "content"}, {"content", "x"}}},
      {"metadata", {{"k", "v"}}},
      {"store", true},
      {"service_tier", "auto"},
      {"prompt_cache_key", "p"},
      {"safety_identifier", "s"},
      {"verbosity", "low"},
      {"web_search_options", {{"search_context_size", "low"}}},
      {"search_parameters", {{"mode", "on"}}},
  };
  return all;
}

std::vector<std::string> sent_as(const std::string& name) {
  if (name == "max_completion_tokens") return {name, "max_tokens"};
  if (name == "seed") return {name, "random_seed"};
  if (name == "thinking") return {"reasoning_effort", "chat_template_kwargs"};
  return {name};
}

TEST(OpenaiRequest, AUnionAtTheRootOfAToolIsFoldedForOpenai) {
  const Json parameters = Json::parse(R"({"anyOf": [{"properties": {"a": {"type": "string"}}},
      {"properties": {"b": {"type": "string"}}}]})");
  const schemas::ChatRequest chat = testing::request_of(
      {{"tools",
        Json::array({{{"type", "function"}, {"function", {{"name", "f"}, {"parameters", parameters}}}}})}});
  const auto sent = [&](const char* provider) {
    const WireRequest wire =
        translation(Family::kOpenai).chat_request(target_of(provider, "m"), chat, false).value();
    return std::pair(Json::parse(wire.body)["tools"][0]["function"]["parameters"],
                     schemas::dropped_text(wire.dropped));
  };
  const Json folded = Json::parse(R"({"type": "object", "properties": {"a": {"type": "string"},
      "b": {"type": "string"}}})");
  EXPECT_EQ(sent("openai"), std::pair(folded, std::string("tools;clamped")));
  EXPECT_EQ(sent("azure"), std::pair(folded, std::string("tools;clamped")));
  EXPECT_EQ(sent("vllm"), std::pair(parameters, std::string()));
}

TEST(OpenaiRequest, NoParameterIsLostInSilence) {
  for (const std::string& name : testing::parameters())
    ASSERT_TRUE(samples().contains(name)) << name << " has no sample";
  const std::pair<const char*, const char*> models[] = {
      {"openai", "gpt-4o"},       {"openai", "o3"},
      {"openai", "gpt-5.2"},      {"xai", "grok-4"},
      {"xai", "grok-3"},          {"mistral", "m"},
      {"groq", "llama-3.3"},      {"groq", "openai/gpt-oss-20b"},
      {"groq", "qwen/qwen3-32b"}, {"ollama", "llama3"},
      {"vllm", "qwen3"},          {"llamacpp", "x"},
      {"openrouter", "a/b"},      {"azure", "deployment"}};
  for (const auto& [provider, model] : models) {
    for (const auto& [name, value] : samples()) {
      schemas::ChatRequest request = request_of({{name, value}});
      if (name == "n") request.n = 2;
      const Written written = write(target_of(provider, model), request);
      const bool arrived =
          std::ranges::any_of(sent_as(name), [&](const auto& as) { return written.body.contains(as); });
      const bool reported =
          std::ranges::any_of(written.dropped, [&](const auto& one) { return one.name == name; });
      EXPECT_TRUE(arrived || reported) << provider << " " << model << " " << name;
      EXPECT_FALSE(arrived && written.lost(name)) << provider << " " << model << " " << name;
    }
  }
}

TEST(OpenaiRequest, WhatBelongsToToolsIsNotSentWithoutThem) {
  for (const char* provider : {"openai", "azure", "xai", "mistral", "groq", "ollama", "vllm", "openrouter"}) {
    for (Json body : {Json::object(), Json{{"tools", Json::array()}}}) {
      body["tool_choice"] = "required";
      body["parallel_tool_calls"] = false;
      const Written written = write(provider, "gpt-4o", body);
      EXPECT_FALSE(written.body.contains("tool_choice")) << provider;
      EXPECT_FALSE(written.body.contains("parallel_tool_calls")) << provider;
      EXPECT_TRUE(written.lost("tool_choice")) << provider;
      EXPECT_TRUE(written.lost("parallel_tool_calls")) << provider;
    }
  }
  const Written written =
      write("openai", "gpt-4o", {{"tools", samples().at("tools")}, {"tool_choice", "auto"}});
  EXPECT_EQ("auto", written.body["tool_choice"]);
  EXPECT_TRUE(written.dropped.empty());
}

TEST(OpenaiRequest, WhatItsTableDropsDoesNotReachTheUpstream) {
  for (const Preset& preset : presets()) {
    if (preset.family != Family::kOpenai) continue;
    const Target target = target_of(preset.name, "some-model");
    const Written written = write(target, request_of(Json(samples())));
    for (const auto& [name, value] : samples()) {
      if (support(target, name) == Support::kDropped) {
        EXPECT_FALSE(written.body.contains(name)) << preset.name << name;
        EXPECT_TRUE(written.lost(name)) << preset.name << name;
      }
    }
  }
}

TEST(OpenaiRequest, TheModelIsTheUpstreamsNameAndUnknownFieldsPassThrough) {
  const Written written = write("openai", "gpt-4o", {{"brand_new", {{"a", 1}}}});
  EXPECT_EQ("gpt-4o", written.body["model"]);
  EXPECT_EQ(Json({{"a", 1}}), written.body["brand_new"]);
  EXPECT_TRUE(written.dropped.empty());
}

// A client library of one provider may send them with any model.
TEST(OpenaiRequest, FieldsOfOtherProvidersAreNotForwarded) {
  const Json foreign{{"cached_content", "cachedContents/x"}, {"inference_geo", "us"},
                     {"output_config", {{"effort", "low"}}}, {"speed", "fast"},
                     {"prompt_mode", "reasoning"},           {"safe_prompt", true},
                     {"prompt_cache_retention", "24h"}};
  for (const Preset& preset : presets()) {
    if (preset.family != Family::kOpenai) continue;
    const Written written = write(target_of(preset.name, "some-model"), request_of(foreign));
    for (const auto& [name, value] : foreign.items()) {
      const bool is_own = preset.dialect == Dialect::kMistral
                              ? name == "prompt_mode" || name == "safe_prompt"
                              : preset.dialect == Dialect::kOpenai && name == "prompt_cache_retention";
      EXPECT_EQ(is_own, written.body.contains(name)) << preset.name << " " << name;
      EXPECT_EQ(!is_own, written.lost(name)) << preset.name << " " << name;
    }
  }
}

TEST(OpenaiRequest, TheNameOfAnUnknownFieldAddsNoOther) {
  const std::string name = R"(x":1,"model":"dearer","y)";
  const Written written = write("openai", "gpt-4o", {{name, 1}});
  EXPECT_EQ("gpt-4o", written.body["model"]);
  EXPECT_EQ(1, written.body[name]);
}

TEST(OpenaiRequest, AStreamRequestsItsUsageExceptOfMistral) {
  EXPECT_EQ(Json({{"include_usage", true}}),
            write(target_of("openai", "gpt-4o"), request_of({}), true).body["stream_options"]);
  const Written mistral = write(target_of("mistral", "m"), request_of({}), true);
  EXPECT_EQ(true, mistral.body["stream"]);
  EXPECT_FALSE(mistral.body.contains("stream_options"));
  EXPECT_FALSE(write("openai", "gpt-4o", {}).body.contains("stream"));
}

TEST(OpenaiRequest, TheTokenLimitHasTheNameThatTheProviderKnows) {
  EXPECT_EQ(9, write("openai", "o3", {{"max_completion_tokens", 9}}).body["max_completion_tokens"]);
  EXPECT_EQ(9, write("xai", "grok-4", {{"max_completion_tokens", 9}}).body["max_completion_tokens"]);
  EXPECT_EQ(9, write("mistral", "m", {{"max_completion_tokens", 9}}).body["max_tokens"]);
  EXPECT_EQ(9, write("ollama", "m", {{"max_completion_tokens", 9}}).body["max_tokens"]);
}

TEST(OpenaiRequest, TemperaturesPastAProvidersBoundsAreCutAndReported) {
  const Written groq = write("groq", "m", {{"temperature", 0}});
  EXPECT_EQ(1e-8, groq.body["temperature"]);
  EXPECT_TRUE(groq.lost("temperature", How::kClamped));
  const Written mistral = write("mistral", "m", {{"temperature", 1.9}});
  EXPECT_EQ(1.5, mistral.body["temperature"]);
  EXPECT_TRUE(mistral.lost("temperature", How::kClamped));
  EXPECT_TRUE(write("mistral", "m", {{"temperature", 1.2}}).dropped.empty());
}

TEST(OpenaiRequest, ReasoningModelsGetTheOnlyTemperatureTheyHave) {
  EXPECT_TRUE(write("openai", "o3", {{"temperature", 0.2}}).lost("temperature"));
  const Written same = write("openai", "o3", {{"temperature", 1}});
  EXPECT_EQ(1, same.body["temperature"]);
  EXPECT_TRUE(same.dropped.empty());
}

TEST(OpenaiRequest, NewerReasoningModelsSampleWhileTheyDoNotReason) {
  EXPECT_EQ(0.2, write("openai", "gpt-5.2", {{"temperature", 0.2}}).body["temperature"]);
  EXPECT_TRUE(
      write("openai", "gpt-5.2", {{"temperature", 0.2}, {"reasoning_effort", "low"}}).lost("temperature"));
}

TEST(OpenaiRequest, UserIsCutToSixtyFourCharacters) {
  std::string name;
  for (int i = 0; i < 70; ++i) name += "ü";
  const Written written = write("openai", "gpt-4o", {{"user", name}});
  EXPECT_EQ(name.substr(0, 128), written.body["user"]);
  EXPECT_TRUE(written.lost("user", How::kClamped));
  EXPECT_TRUE(write("openai", "gpt-4o", {{"user", std::string(64, 'x')}}).dropped.empty());
}

TEST(OpenaiRequest, MistralHasItsOwnWords) {
  const Written written =
      write("mistral", "m",
            {{"seed", 3},
             {"tools", samples().at("tools")},
             {"tool_choice", "required"},
             {"messages",
              {{{"role", "developer"}, {"content", "d"}},
               {{"role", "assistant"}, {"tool_calls", {{{"id", "call_0123456789"}, {"type", "function"}}}}},
               {{"role", "tool"}, {"tool_call_id", "call_0123456789"}, {"content", "x"}}}}});
  EXPECT_EQ(3, written.body["random_seed"]);
  EXPECT_EQ("any", written.body["tool_choice"]);
  EXPECT_EQ("system", written.body["messages"][0]["role"]);
  const std::string id = written.body["messages"][1]["tool_calls"][0]["id"];
  EXPECT_EQ(9u, id.size());
  EXPECT_EQ(id, written.body["messages"][2]["tool_call_id"]);
}

TEST(OpenaiRequest, PartsOfThinkingAreForMistralAlone) {
  const Json text{{"type", "text"}, {"text", "4"}};
  const Json thinking{{"type", "thinking"}, {"thinking", {{{"type", "text"}, {"text", "2 + 2"}}}}};
  const Json body{{"messages", {{{"role", "assistant"}, {"content", {thinking, text}}}}}};
  const Written mistral = write("mistral", "m", body);
  EXPECT_EQ(mistral.body["messages"][0]["content"], body["messages"][0]["content"]);
  EXPECT_TRUE(mistral.dropped.empty());
  for (const char* other : {"openai", "groq", "xai", "vllm"}) {
    const Written written = write(other, "m", body);
    EXPECT_EQ(written.body["messages"][0]["content"], Json::array({text})) << other;
    EXPECT_TRUE(written.lost("messages.thinking")) << other;
  }
}

TEST(OpenaiRequest, AMessageOfThinkingAloneIsEmpty) {
  const Json thinking{{"type", "thinking"}, {"thinking", "hm"}};
  Json message{{"role", "assistant"}, {"content", Json::array({thinking})}};
  EXPECT_EQ(write("openai", "m", {{"messages", {message}}}).body["messages"][0]["content"], "");
  message["tool_calls"] = {{{"id", "c"}, {"type", "function"}}};
  EXPECT_FALSE(write("openai", "m", {{"messages", {message}}}).body["messages"][0].contains("content"));
}

TEST(OpenaiRequest, GroqSeesNoNamesOfMessages) {
  const Written written =
      write("groq", "m", {{"messages", {{{"role", "user"}, {"content", "x"}, {"name", "ann"}}}}});
  EXPECT_FALSE(written.body["messages"][0].contains("name"));
  EXPECT_TRUE(written.lost("messages.name"));
}

TEST(OpenaiRequest, SeveralChoicesAreRequestedOrEmulated) {
  schemas::ChatRequest request = request_of({{"n", 3}});
  request.n = 3;
  EXPECT_EQ(3, write(target_of("openai", "gpt-4o"), request).body["n"]);
  const Written groq = write(target_of("groq", "m"), request);
  EXPECT_FALSE(groq.body.contains("n"));
  EXPECT_TRUE(groq.lost("n", How::kEmulated));
}

TEST(OpenaiRequest, ThinkingBecomesWhatTheProviderHasForIt) {
  const Json off{{"thinking", {{"type", "disabled"}}}};
  EXPECT_EQ("none", write("groq", "qwen/qwen3-32b", off).body["reasoning_effort"]);
  EXPECT_TRUE(write("groq", "openai/gpt-oss-20b", off).lost("thinking"));
  EXPECT_EQ(Json({{"enable_thinking", false}}), write("vllm", "qwen3", off).body["chat_template_kwargs"]);
  EXPECT_EQ("none", write("ollama", "qwen3", off).body["reasoning_effort"]);
}

TEST(OpenaiRequest, WordsThatAModelLacksAreDropped) {
  EXPECT_TRUE(write("mistral", "m", {{"reasoning_effort", "low"}}).lost("reasoning_effort"));
  EXPECT_TRUE(write("openai", "gpt-5", {{"reasoning_effort", "ponder"}}).lost("reasoning_effort"));
  EXPECT_TRUE(write("openai", "gpt-5", {{"service_tier", "gold"}}).lost("service_tier"));
  EXPECT_EQ("on_demand", write("groq", "m", {{"service_tier", "default"}}).body["service_tier"]);
}

TEST(OpenaiRequest, WhatTheGatewayPutIntoAMessageStaysHere) {
  const Written written = write("openai", "gpt-4o",
                                {{"messages",
                                  {{{"role", "assistant"},
                                    {"content", "x"},
                                    {std::string(schemas::kReasoningStateMember), "opaque"}}}}});
  EXPECT_EQ(Json({{"role", "assistant"}, {"content", "x"}}), written.body["messages"][0]);
}

}  // namespace
}  // namespace millrace::providers::openai_request_test
