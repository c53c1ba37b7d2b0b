#include "app/litellm_provider.h"

#include <algorithm>
#include <array>

namespace millrace::app {
namespace {

struct Prefix {
  std::string_view theirs, ours;
};
constexpr std::array kPrefixes{
    Prefix{"openai", "openai"},         Prefix{"anthropic", "anthropic"}, Prefix{"gemini", "gemini"},
    Prefix{"mistral", "mistral"},       Prefix{"groq", "groq"},           Prefix{"xai", "xai"},
    Prefix{"openrouter", "openrouter"}, Prefix{"ollama", "ollama"},       Prefix{"ollama_chat", "ollama"},
    Prefix{"azure", "azure"},           Prefix{"hosted_vllm", "vllm"},    Prefix{"vllm", "vllm"},
    Prefix{"llamafile", "llamacpp"}};

// Protocols of their own that nothing here speaks.
constexpr std::array<std::string_view, 12> kForeign{
    "bedrock",     "vertex_ai", "vertex_ai_beta",         "sagemaker", "sagemaker_chat", "cohere",
    "cohere_chat", "replicate", "text-completion-openai", "watsonx",   "huggingface",    "triton"};

// Names that LiteLLM knows without a prefix.
constexpr std::array kBareNames{Prefix{"gpt-", "openai"},    Prefix{"chatgpt-", "openai"},
                                Prefix{"o1", "openai"},      Prefix{"o3", "openai"},
                                Prefix{"o4", "openai"},      Prefix{"text-embedding-", "openai"},
                                Prefix{"dall-e-", "openai"}, Prefix{"whisper-", "openai"},
                                Prefix{"tts-", "openai"},    Prefix{"claude-", "anthropic"}};

LitellmPlace compatible(std::string_view prefix, std::string_view model, bool has_base_url) {
  const std::string said =
      prefix.empty() ? "names no provider" : "the provider " + std::string(prefix) + " is not known here";
  if (!has_base_url)
    return {{}, {}, said + "; with its api_base it would be a server that speaks OpenAI's protocol"};
  return {"openai", std::string(model), said + "; taken as a server that speaks OpenAI's protocol"};
}

bool cut_end(std::string& text, std::string_view end) {
  if (!text.ends_with(end)) return false;
  text.resize(text.size() - end.size());
  return true;
}

}  // namespace

LitellmPlace litellm_place(std::string_view model, std::string_view custom_provider, bool has_base_url) {
  const std::size_t slash = model.find('/');
  const bool named = slash != std::string_view::npos;
  std::string_view prefix = custom_provider;
  std::string_view rest = model;
  if (named && (custom_provider.empty() || model.substr(0, slash) == custom_provider)) {
    prefix = model.substr(0, slash);
    rest = model.substr(slash + 1);
  }
  if (prefix.empty()) {
    const auto* bare =
        std::ranges::find_if(kBareNames, [&](const Prefix& p) { return model.starts_with(p.theirs); });
    if (bare != kBareNames.end()) return {std::string(bare->ours), std::string(model)};
    return compatible(prefix, model, has_base_url);
  }
  const auto* known = std::ranges::find(kPrefixes, prefix, &Prefix::theirs);
  if (known != kPrefixes.end()) return {std::string(known->ours), std::string(rest)};
  if (std::ranges::find(kForeign, prefix) != kForeign.end())
    return {{}, {}, "Millrace does not speak the protocol of " + std::string(prefix)};
  return compatible(prefix, rest, has_base_url);
}

std::string litellm_base_url(std::string_view provider, std::string api_base) {
  while (api_base.ends_with('/')) api_base.pop_back();
  if (provider == "ollama" && !api_base.ends_with("/v1")) return api_base + "/v1";
  if (provider == "anthropic") {
    cut_end(api_base, "/messages");
    cut_end(api_base, "/v1");
  }
  if (provider == "gemini") cut_end(api_base, "/v1beta");
  if (provider == "azure" && api_base.find("/openai") == std::string::npos) return api_base + "/openai/v1";
  return api_base;
}

}  // namespace millrace::app
