#pragma once
#include <string>
#include <string_view>

namespace millrace::app {

// Where LiteLLM would send a model, in our words.
struct LitellmPlace {
  std::string provider;  // one of ours; empty: none, and `note` says why
  std::string model;     // what the provider calls it; "*": all of its models
  std::string note = {};
};

// `model` as in litellm_params: "anthropic/claude-sonnet-4-5", "gpt-4o"; `custom_provider`:
// custom_llm_provider, or nothing.
LitellmPlace litellm_place(std::string_view model, std::string_view custom_provider, bool has_base_url);

// What LiteLLM adds to an api_base by itself, a row of ours has in its base_url.
std::string litellm_base_url(std::string_view provider, std::string api_base);

}  // namespace millrace::app
