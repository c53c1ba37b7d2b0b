#include "app/litellm/models.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <string_view>

#include "app/litellm/map.h"

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

// Providers with a protocol that Millrace does not support.
constexpr std::array<std::string_view, 12> kForeign{
    "bedrock",     "vertex_ai", "vertex_ai_beta",         "sagemaker", "sagemaker_chat", "cohere",
    "cohere_chat", "replicate", "text-completion-openai", "watsonx",   "huggingface",    "triton"};

// Model name prefixes that LiteLLM accepts without a provider.
constexpr std::array kBareNames{Prefix{"gpt-", "openai"},    Prefix{"chatgpt-", "openai"},
                                Prefix{"o1", "openai"},      Prefix{"o3", "openai"},
                                Prefix{"o4", "openai"},      Prefix{"text-embedding-", "openai"},
                                Prefix{"dall-e-", "openai"}, Prefix{"whisper-", "openai"},
                                Prefix{"tts-", "openai"},    Prefix{"claude-", "anthropic"}};

struct PriceName {
  std::string_view theirs, ours;
};
// The first of several keys for one part counts.
constexpr std::array kPriceNames{PriceName{"cache_read_input_token_cost", "cached"},
                                 PriceName{"cache_creation_input_token_cost", "cache_write"},
                                 PriceName{"output_cost_per_reasoning_token", "reasoning"},
                                 PriceName{"output_cost_per_image", "image"},
                                 PriceName{"input_cost_per_second", "audio_second"},
                                 PriceName{"output_cost_per_second", "audio_second"},
                                 PriceName{"input_cost_per_character", "character"},
                                 PriceName{"ocr_cost_per_page", "page"},
                                 PriceName{"input_cost_per_request", "request"}};

LitellmPlace compatible(std::string_view prefix, std::string_view model, bool has_base_url) {
  const std::string warning =
      prefix.empty() ? "names no provider" : "the provider " + std::string(prefix) + " is not known here";
  if (!has_base_url)
    return {{}, {}, warning + "; with an api_base it would be taken as a server with OpenAI's protocol"};
  return {"openai", std::string(model), warning + "; taken as a server with OpenAI's protocol"};
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
    return {{}, {}, "Millrace does not support the protocol of " + std::string(prefix)};
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

namespace {

using base::ConfigNode;

constexpr std::string_view kFromEnvironment = "os.environ/";
constexpr double kTokensOfAPrice = 1'000'000;
constexpr double kImportedDollarsMax = 1'000'000;
constexpr double kImportedUnitDollarsMax = 10'000;
constexpr std::size_t kImportedNameMax = 200;
constexpr double kSharesTo = 100;  // shares 0.9 and 0.1 become weights 90 and 10
constexpr double kImportedWeightMax = 1'000'000;

struct ModeAbility {
  std::string_view mode, ability;
};
constexpr std::array kModes{ModeAbility{"chat", ""}, ModeAbility{"embedding", "embeddings"},
                            ModeAbility{"image_generation", "images"},
                            ModeAbility{"audio_transcription", "audio"}, ModeAbility{"audio_speech", ""}};

bool is_model_name(std::string_view text) {
  return !text.empty() && text.size() <= kImportedNameMax &&
         std::ranges::all_of(text, [](char c) { return c > 0x20 && c < 0x7f; });
}

// True for the name of a header with a secret: "Authorization", "x-api-key", "X-Auth-Token".
bool names_a_secret(std::string text) {
  for (char& c : text) c = c >= 'A' && c <= 'Z' ? static_cast<char>(c | 0x20) : c;
  constexpr std::array<std::string_view, 10> kWords{"auth", "key", "token", "secret", "cookie",
                                                    "pass", "pwd", "cred",  "sign",   "session"};
  return std::ranges::any_of(kWords,
                             [&](std::string_view word) { return text.find(word) != std::string::npos; });
}

// True for text that looks like a secret: "Bearer …", "sk-…", or a generated-looking word of letters and
// digits.
bool looks_secret(std::string_view value) {
  constexpr std::size_t kLong = 16;
  if (value.starts_with("Bearer ") || value.starts_with("Basic ") || value.starts_with("sk-")) return true;
  const auto is_digit = [](char c) { return c >= '0' && c <= '9'; };
  return value.size() >= kLong && value.find(' ') == std::string_view::npos &&
         std::ranges::any_of(value, is_digit) && !std::ranges::all_of(value, is_digit);
}

// Reads one entry of model_list, key by key.
class EntryReader {
 public:
  EntryReader(const ConfigNode& entry, const std::map<std::string, std::string>& environment, PlainKeys& keys,
              std::vector<std::string>& notes)
      : environment_(environment), keys_(keys), entry_(entry, "model_list", notes) {
    static const ConfigNode kNothing;
    const ConfigNode* params = entry_.take("litellm_params");
    const ConfigNode* info = entry_.take("model_info");
    params_.emplace(params == nullptr ? kNothing : *params, "litellm_params", notes);
    info_.emplace(info == nullptr ? kNothing : *info, "model_info", notes);
  }

  void read(ImportedModels& out) {
    row_.name = entry_.text("model_name").value_or("");
    const auto model = params_->text("model");
    if (!model) return entry_.note("litellm_params", "not imported: it has no model");
    const auto base = params_->text(params_->take("api_base") != nullptr ? "api_base" : "base_url");
    const LitellmPlace place =
        litellm_place(*model, params_->text("custom_llm_provider").value_or(""), base.has_value());
    if (place.provider.empty()) return params_->note("model", "not imported: " + place.note);
    if (!place.note.empty()) params_->note("model", place.note);
    row_.provider = place.provider;
    row_.model = place.model;
    read_key();
    if (row_.model == "*") return read_open_provider(out);
    if (!is_model_name(row_.name))
      return entry_.note("model_name", "not imported: a name has 1 to 200 characters, and no spaces");
    if (!read_base(base)) return;
    read_numbers();
    read_price();
    read_headers();
    read_mode();
    note_unread_members();
    out.rows.push_back(std::move(row_));
  }

 private:
  void note_unread_members() {
    params_->note_unread_members();
    info_->note_unread_members();
    entry_.note_unread_members();
  }

  // The entry openai/* as openai/*: all models of that provider.
  void read_open_provider(ImportedModels& out) {
    if (row_.name != row_.provider + "/*")
      return entry_.note("model_name",
                         "not imported: only PROVIDER/* can stand for all models of a provider");
    out.providers.emplace(row_.provider, row_.api_key);
    note_unread_members();
  }

  std::string reference(LitellmMap& map, std::string_view key, const std::string& text) {
    if (text.starts_with(kFromEnvironment)) return "env:" + text.substr(kFromEnvironment.size());
    std::string name = keys_.reference(text);
    map.note(key, "a secret in plain text: it is not written; set it in the gateway's environment as " +
                      name.substr(name.find(':') + 1));
    return name;
  }

  void read_key() {
    const auto key = params_->text("api_key");
    if (key && !key->empty()) row_.api_key = reference(*params_, "api_key", *key);
  }

  // Reads the base_url. False: the row cannot be imported.
  bool read_base(std::optional<std::string> base) {
    if (base && base->starts_with(kFromEnvironment)) {
      const auto found = environment_.find(base->substr(kFromEnvironment.size()));
      if (found == environment_.end()) {
        params_->note("api_base",
                      "not imported: base_url cannot be a reference, and this variable is not set");
        return false;
      }
      base = found->second;
      params_->note("api_base", "written with its present value: base_url cannot be a reference");
    }
    if (base && base->find('@') != std::string::npos) {
      params_->note("api_base", "not imported: it contains a user; set the server's key as api_key");
      return false;
    }
    if (base) row_.base_url = litellm_base_url(row_.provider, *base);
    if (row_.provider == "azure") return read_azure();
    const bool keyless = row_.provider == "ollama" || row_.provider == "vllm" || row_.provider == "llamacpp";
    if (base && row_.api_key.empty() && !keyless)
      params_->note(
          "api_base",
          "gets no key: a server gets only the key of its row; add api_key: env:NAME if it needs one");
    return true;
  }

  bool read_azure() {
    if (params_->take("api_version") != nullptr)
      params_->note("api_version", "left out: the path /openai/v1 has no version");
    if (row_.api_key.empty()) row_.api_key = "env:AZURE_API_KEY";
    if (!row_.base_url.empty()) return true;
    params_->note("model", "not imported: provider azure needs its api_base");
    return false;
  }

  void read_numbers() {
    row_.requests_per_minute = params_->whole("rpm").value_or(0);
    row_.tokens_per_minute = params_->whole("tpm").value_or(0);
    row_.concurrent = params_->whole("max_parallel_requests").value_or(0);
    row_.share = params_->number("weight");
    row_.input_max = info_->whole("max_input_tokens").value_or(0);
    if (row_.provider == "anthropic") row_.output_max = params_->whole("max_tokens").value_or(0);
    params_->take("drop_params");  // here a parameter that is dropped is always named in the reply
    info_->take("id");
  }

  std::optional<double> price(std::string_view key, bool per_million) {
    auto given = params_->number(key);
    const auto also = info_->number(key);
    if (!given) given = also;
    if (!given) return std::nullopt;
    const double dollars = per_million ? *given * kTokensOfAPrice : *given;
    if (dollars <= (per_million ? kImportedDollarsMax : kImportedUnitDollarsMax)) return dollars;
    params_->note(key, per_million
                           ? "left out: a price here is at most 1,000,000 US dollars per million tokens"
                           : "left out: a price here is at most 10,000 US dollars per unit");
    return std::nullopt;
  }

  void read_price() {
    row_.prompt = price("input_cost_per_token", true);
    row_.completion = price("output_cost_per_token", true);
    for (const PriceName& each : kPriceNames) {
      const auto part = std::ranges::find(inference::kPriceParts, each.ours, &inference::PricePart::name);
      const auto given = price(each.theirs, part->per_million);
      if (given && !(row_.price.*part->value)) row_.price.*part->value = given;
    }
  }

  void read_headers() {
    for (const std::string_view key : {"extra_headers", "headers"}) {
      const ConfigNode* headers = params_->take(key);
      if (headers == nullptr) continue;
      if (headers->kind != ConfigNode::Kind::kMap) params_->note(key, "left out: a map is expected here");
      for (const ConfigNode& line : headers->items) {
        if (line.kind != ConfigNode::Kind::kText) continue;
        const bool plain =
            !line.text.starts_with(kFromEnvironment) && !names_a_secret(line.key) && !looks_secret(line.text);
        row_.headers.emplace_back(line.key, plain ? line.text : reference(*params_, key, line.text));
      }
    }
  }

  void read_mode() {
    const auto mode = info_->text("mode");
    if (!mode) return;
    const auto* found = std::ranges::find(kModes, *mode, &ModeAbility::mode);
    if (found == kModes.end()) return info_->note("mode", "left out: Millrace does not know " + *mode);
    row_.ability = found->ability;
  }

  const std::map<std::string, std::string>& environment_;
  PlainKeys& keys_;
  LitellmMap entry_;
  std::optional<LitellmMap> params_, info_;
  ImportedModel row_;
};

// The share of a row. If no entry of a name has a weight, LiteLLM chooses by requests per minute.
double share_of(const ImportedModel& row, bool by_rate) {
  if (row.share) return *row.share;
  return by_rate ? static_cast<double>(row.requests_per_minute) : 1;
}

void weigh(std::vector<ImportedModel*>& targets) {
  const auto has_share = [](const ImportedModel* row) { return row->share.has_value(); };
  const auto has_rate = [](const ImportedModel* row) { return row->requests_per_minute > 0; };
  const bool by_rate = std::ranges::none_of(targets, has_share) && std::ranges::all_of(targets, has_rate);
  const bool whole = std::ranges::all_of(targets, [&](const ImportedModel* row) {
    return share_of(*row, by_rate) == std::floor(share_of(*row, by_rate));
  });
  for (ImportedModel* row : targets) {
    const double weight = std::round(share_of(*row, by_rate) * (whole ? 1 : kSharesTo));
    row->weight = static_cast<int>(std::clamp(weight, 1.0, kImportedWeightMax));
  }
}

}  // namespace

std::string PlainKeys::reference(const std::string& key) {
  return names_.emplace(key, "env:LITELLM_KEY_" + std::to_string(names_.size() + 1)).first->second;
}

ImportedModels import_models(const ConfigNode& model_list,
                             const std::map<std::string, std::string>& environment, PlainKeys& keys,
                             std::vector<std::string>& notes) {
  ImportedModels out;
  for (const ConfigNode& entry : model_list.items) EntryReader(entry, environment, keys, notes).read(out);
  std::map<std::string, std::vector<ImportedModel*>> by_name;
  for (ImportedModel& row : out.rows) by_name[row.name].push_back(&row);
  for (auto& [name, targets] : by_name) {
    if (targets.size() > 1) weigh(targets);
  }
  return out;
}

}  // namespace millrace::app
