#pragma once
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "platform/base/config.h"

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

// One row of our `models`, made of an entry of LiteLLM's model_list. Empty and 0: not said.
struct ImportedModel {
  std::string name, provider, model, base_url, api_key;
  std::vector<std::pair<std::string, std::string>> headers;
  std::vector<std::string> fallbacks;
  std::optional<double> share;  // `weight` as it is given there: a share or a count
  int weight = 0;
  std::optional<double> prompt, completion, cached;  // US dollars per million tokens
  std::int64_t concurrent = 0, requests_per_minute = 0, tokens_per_minute = 0;
  std::string ability;
  std::int64_t output_max = 0;
};

// Names of variables for the keys that stand in the file in plain: those are written nowhere.
class PlainKeys {
 public:
  // "env:LITELLM_KEY_1", the same for the same key.
  std::string reference(const std::string& key);

 private:
  std::map<std::string, std::string> names_;
};

struct ImportedModels {
  std::vector<ImportedModel> rows;
  std::map<std::string, std::string>
      providers;  // of entries such as openai/*: the key's reference, or nothing
};

// What of `model_list` can be said here; `notes` has what cannot, and what has to be looked at.
// `environment`: where an api_base that is a reference is looked up.
ImportedModels import_models(const base::ConfigNode& model_list,
                             const std::map<std::string, std::string>& environment, PlainKeys& keys,
                             std::vector<std::string>& notes);

}  // namespace millrace::app
