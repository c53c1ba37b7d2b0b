#pragma once
#include <string>
#include <string_view>

#include <gtest/gtest.h>

#include "tests/unit/providers/openai_cases.h"

// Requests from JSON literals, for the provider families with a separate format.
namespace millrace::providers::testing {

inline base::Result<WireRequest> translated(const Target& target, std::string_view body,
                                            bool stream = false) {
  return translation(target.preset->family)
      .chat_request(target, request_of(schemas::Json::parse(body)), stream);
}

inline WireRequest sent(const Target& target, std::string_view body, bool stream = false) {
  auto wire = translated(target, body, stream);
  EXPECT_TRUE(wire.has_value()) << (wire ? "" : wire.error().message);
  return wire ? *std::move(wire) : WireRequest{};
}

inline schemas::Json sent_of(const Target& target, std::string_view body, bool stream = false) {
  return schemas::Json::parse(sent(target, body, stream).body, nullptr, false);
}

inline std::string dropped_of(const Target& target, std::string_view body) {
  return schemas::dropped_text(sent(target, body).dropped);
}

inline base::Error refused(const Target& target, std::string_view body) {
  const auto wire = translated(target, body);
  return wire ? base::Error{} : wire.error();
}

// Sets each parameter of the table, one at a time. Either the provider's request changes, or the parameter is
// reported as dropped.
inline void expect_none_lost(const Target& target) {
  const schemas::Json values = schemas::Json::parse(R"({
      "messages": [{"role": "user", "content": "other"}], "temperature": 0.5, "top_p": 0.5, "top_k": 3,
      "max_completion_tokens": 2000, "presence_penalty": 1, "frequency_penalty": 1, "logit_bias": {"1": 2},
      "stop": ["a"], "thinking": {"type": "enabled", "budget_tokens": 1500}, "generation_config": {"topP": 0.1},
      "safety_settings": [{"category": "c", "threshold": "t"}],
      "tool_config": {"function_calling_config": {"mode": "NONE"}}, "seed": 4, "user": "u",
      "response_format": {"type": "json_object"}, "tools": [{"type": "custom", "custom": {"name": "c"}}],
      "tool_choice": "required", "parallel_tool_calls": false, "logprobs": true, "top_logprobs": 2,
      "reasoning_effort": "high", "audio": {"voice": "v", "format": "wav"}, "modalities": ["text", "audio"],
      "prediction": {"type": "content", "content": "p"}, "metadata": {"k": "v"}, "store": true,
      "service_tier": "auto", "prompt_cache_key": "p", "safety_identifier": "s", "verbosity": "low",
      "web_search_options": {}, "search_parameters": {"mode": "on"}, "nobody_knows": 1})");
  std::vector<std::string> names = parameters();
  names.emplace_back("nobody_knows");
  const std::string plain = sent(target, "{}").body;
  for (const std::string& name : names) {
    if (name == "n") continue;
    ASSERT_TRUE(values.contains(name)) << name << " has no value in this test";
    schemas::Json body = {{name, values[name]}};
    if (name == "top_logprobs") body["logprobs"] = true;
    const WireRequest wire = sent(target, body.dump());
    const std::string reported = schemas::dropped_text(wire.dropped);
    EXPECT_TRUE(wire.body != plain || reported.find(name) != std::string::npos)
        << target.model << " loses " << name;
  }
  for (const char* choice : {"auto", "none", "required"}) {
    for (schemas::Json body : {schemas::Json::object(), schemas::Json{{"tools", schemas::Json::array()}}}) {
      body["tool_choice"] = choice;
      body["parallel_tool_calls"] = false;
      const std::string reported = dropped_of(target, body.dump());
      for (const char* name : {"tool_choice", "parallel_tool_calls"})
        EXPECT_NE(reported.find(name), std::string::npos) << name << " with " << choice;
    }
  }
}

// At least one target of each family, and of each provider with rules of its own.
inline const std::vector<Target> kTargets = {
    target_of("openai", "gpt-4o"),
    target_of("azure", "gpt-4o", "http://x"),
    target_of("xai", "grok-4"),
    target_of("mistral", "mistral-large"),
    target_of("groq", "llama-3.3"),
    target_of("groq", "openai/gpt-oss-120b"),
    target_of("ollama", "m"),
    target_of("vllm", "m"),
    target_of("openrouter", "m"),
    target_of("anthropic", "claude-sonnet-4-5"),
    target_of("gemini", "gemini-3-pro"),
    target_of("gemini", "gemini-2.5-flash"),
    target_of("openai", "m", "https://inference.example/v1"),
};

}  // namespace millrace::providers::testing
