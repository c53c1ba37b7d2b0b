#pragma once
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "ai/inference/routing/registry.h"
#include "platform/base/config.h"

namespace millrace::app {

// The provider and model to which LiteLLM would send a request.
struct LitellmPlace {
  std::string provider;  // a Millrace provider; empty: none, and `note` says why
  std::string model;     // the provider's name of the model; "*": all of its models
  std::string note = {};
};

// `model` as in litellm_params: "anthropic/claude-sonnet-4-5", "gpt-4o"; `custom_provider`:
// custom_llm_provider, or nothing.
LitellmPlace litellm_place(std::string_view model, std::string_view custom_provider, bool has_base_url);

// The base_url for a LiteLLM api_base: LiteLLM adds path segments by itself, which a Millrace base_url must
// contain.
std::string litellm_base_url(std::string_view provider, std::string api_base);

// One row of `models`, converted from an entry of LiteLLM's model_list. Empty and 0: not specified.
struct ImportedModel {
  std::string name, provider, model, base_url, api_key;
  std::vector<std::pair<std::string, std::string>> headers;
  std::vector<std::string> fallbacks;
  std::optional<double> share;  // LiteLLM's `weight`: a share or a count
  int weight = 0;
  std::optional<double> prompt, completion;  // US dollars per million tokens
  inference::Price price = {};               // its other parts
  std::int64_t concurrent = 0, requests_per_minute = 0, tokens_per_minute = 0;
  std::string ability;
  std::int64_t input_max = 0, output_max = 0;
};

// Variable names that replace keys written as plain text in the file. The keys themselves are never written.
class PlainKeys {
 public:
  // A reference such as "env:LITELLM_KEY_1"; equal keys get the same one.
  std::string reference(const std::string& key);

 private:
  std::map<std::string, std::string> names_;
};

struct ImportedModels {
  std::vector<ImportedModel> rows;
  std::map<std::string, std::string>
      providers;  // from entries such as openai/*: the reference of the key, or empty
};

// Converts `model_list`. `notes` gets what cannot be converted and what needs a check. `environment`:
// resolves an api_base that is a reference.
ImportedModels import_models(const base::ConfigNode& model_list,
                             const std::map<std::string, std::string>& environment, PlainKeys& keys,
                             std::vector<std::string>& notes);

}  // namespace millrace::app
