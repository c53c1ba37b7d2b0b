#include "schemas/chat/chat_request_fields.h"

#include <algorithm>
#include <array>

#include "schemas/jobs/job_metadata.h"
#include "schemas/json/json_text.h"

// Readers of all parameters except messages and tools.
namespace millrace::schemas {
namespace {

constexpr std::int64_t kModelNameMax = 256;
constexpr std::size_t kStopMax = 4;
constexpr std::size_t kWordMax = 32;
constexpr std::size_t kLogitBiasMax = 4096;
constexpr int kBiasMax = 100;
constexpr std::int64_t kFormatNameMax = 256;

void add_model(FieldReader& reader, const Json& value, std::vector<std::string>& models) {
  if (const auto name = read_name(reader, value, kModelNameMax)) models.emplace_back(*name);
}

bool is_word(std::string_view text) {
  const auto lower = [](char c) { return c >= 'a' && c <= 'z'; };
  if (text.empty() || text.size() > kWordMax || !lower(text.front())) return false;
  return std::all_of(text.begin(), text.end(),
                     [&](char c) { return lower(c) || (c >= '0' && c <= '9') || c == '-' || c == '_'; });
}

constexpr std::array kSafetySetting{
    Field{.name = "category", .required = true},
    Field{.name = "threshold", .required = true},
};

constexpr std::array<std::string_view, 3> kFormats{"text", "json_object", "json_schema"};
constexpr std::array kJsonSchema{
    Field{.name = "name", .required = true, .min = 1, .max = kFormatNameMax},
    Field{.name = "description"},
    Field{.name = "schema", .type = FieldType::kAnyObject},
    Field{.name = "strict", .type = FieldType::kBool},
};
constexpr std::array kFormat{Field{.name = "type", .required = true, .choices = kFormats}};
constexpr std::array kSchemaFormat{
    Field{.name = "json_schema", .type = FieldType::kObject, .required = true, .members = kJsonSchema}};

}  // namespace

std::optional<std::string_view> read_name(FieldReader& reader, const Json& value, std::int64_t max) {
  const Field row{.name = {}, .min = 1, .max = max};
  return reader.check(row, value) ? reader.text(value) : std::nullopt;
}

void read_chat_model(void* object, FieldReader& reader, const Json& value) {
  auto& models = chat_request_draft(object).models;
  if (value.is_array()) {
    if (!reader.is_list(value, 1, kChatModelsMax)) return;
    for (std::size_t i = 0; i < value.size(); ++i) {
      const FieldReader::Inside item(reader, i);
      add_model(reader, value[i], models);
    }
    return;
  }
  if (!value.is_object()) return add_model(reader, value, models);
  const auto name = value.find("model");
  const auto settings = value.find("settings");
  {
    const FieldReader::Inside member(reader, "model");
    if (name == value.end() || name->is_null()) {
      reader.problem("Field required", "missing");
    } else {
      add_model(reader, *name, models);
    }
  }
  const FieldReader::Inside member(reader, "settings");
  if (settings != value.end() && !settings->is_null()) reader.is_object(*settings);
}

void read_stop(void*, FieldReader& reader, const Json& value) {
  const Field row{.name = {}, .min = 1};
  if (!value.is_array()) {
    reader.check(row, value);
    return;
  }
  if (!reader.is_list(value, 0, kStopMax)) return;
  for (std::size_t i = 0; i < value.size(); ++i) {
    const FieldReader::Inside item(reader, i);
    reader.check(row, value[i]);
  }
}

void read_logit_bias(void*, FieldReader& reader, const Json& value) {
  if (!reader.is_object(value, kLogitBiasMax)) return;
  const Field row{.name = {}, .type = FieldType::kNumber, .min = -kBiasMax, .max = kBiasMax};
  for (const auto& [token, bias] : value.items()) {
    const FieldReader::Inside member(reader, token);
    if (!reader.check(row, bias)) return;
  }
}

void read_modalities(void* object, FieldReader& reader, const Json& value) {
  constexpr std::size_t kModalitiesMax = 8;
  if (!reader.is_list(value, 0, kModalitiesMax)) return;
  for (std::size_t i = 0; i < value.size(); ++i) {
    const FieldReader::Inside item(reader, i);
    read_word(object, reader, value[i]);
    if (reader.text(value[i]) == "audio") chat_request_draft(object).wants_audio = true;
  }
}

void read_safety_settings(void* object, FieldReader& reader, const Json& value) {
  if (!reader.is_list(value)) return;
  for (std::size_t i = 0; i < value.size(); ++i) {
    const FieldReader::Inside item(reader, i);
    reader.read(kSafetySetting, value[i], object);
  }
}

void read_guardrails(void*, FieldReader& reader, const Json& value) {
  if (!reader.is_list(value)) return;
  for (std::size_t i = 0; i < value.size(); ++i) {
    const FieldReader::Inside item(reader, i);
    if (!reader.is_object(value[i])) return;
  }
}

void read_credentials(void*, FieldReader& reader, const Json& value) {
  if (!value.is_structured()) reader.problem("Input should be a list or an object", "list_type");
}

void read_word(void*, FieldReader& reader, const Json& value) {
  const auto text = reader.text(value);
  if (!text) {
    reader.problem("Input should be a valid string", "string_type", &value);
  } else if (!is_word(*text)) {
    reader.problem("Input should be a word of lower-case letters, at most 32", "string_pattern_mismatch",
                   &value, R"({"pattern":"^[a-z][a-z0-9_-]{0,31}$"})");
  }
}

void read_voice(void*, FieldReader& reader, const Json& value) {
  if (!value.is_object() && !reader.text(value))
    reader.problem("Input should be a string or an object", "string_type", &value);
}

void read_prediction_content(void*, FieldReader& reader, const Json& value) {
  std::vector<NamedUrl> none;  // only text parts
  read_content(reader, value, ContentOf::kSystem, none);
}

void read_response_format(void* object, FieldReader& reader, const Json& value) {
  reader.read(kFormat, value, object);
  if (!value.is_object()) return;
  const auto type = value.find("type");
  const auto text = type == value.end() ? std::nullopt : reader.text(*type);
  chat_request_draft(object).needs_format = text != "text";
  if (text == "json_schema") reader.read(kSchemaFormat, value, object);
}

namespace {

using Custom = void (*)(void*, FieldReader&, const Json&);
using WordList = std::span<const std::string_view>;
constexpr std::int64_t kLeast = std::numeric_limits<std::int64_t>::min();
constexpr std::int64_t kMost = std::numeric_limits<std::int64_t>::max();

template <auto Member>
constexpr auto into_chat = &store_in<ChatRequestDraft, Member>;

constexpr Field text(std::string_view name, std::string_view about) { return {.name = name, .text = about}; }
constexpr Field flag(std::string_view name, std::string_view about, Custom store = nullptr,
                     std::string_view otherwise = {}) {
  return {.name = name, .type = FieldType::kBool, .text = about, .default_json = otherwise, .store = store};
}
constexpr Field number(std::string_view name, std::int64_t min, std::int64_t max, std::string_view about) {
  return {.name = name, .type = FieldType::kNumber, .text = about, .min = min, .max = max};
}
constexpr Field integer(std::string_view name, std::int64_t min, std::int64_t max, std::string_view about,
                        Custom store = nullptr, std::string_view otherwise = {}) {
  return {.name = name,
          .type = FieldType::kInteger,
          .text = about,
          .min = min,
          .max = max,
          .default_json = otherwise,
          .store = store};
}
constexpr Field open_object(std::string_view name, std::string_view about) {
  return {.name = name, .type = FieldType::kAnyObject, .text = about};
}
constexpr Field object(std::string_view name, std::span<const Field> members, std::string_view about) {
  return {.name = name, .type = FieldType::kObject, .text = about, .members = members};
}
constexpr Field custom(std::string_view name, Custom read, std::string_view schema, std::string_view about) {
  return {.name = name, .type = FieldType::kCustom, .text = about, .schema = schema, .custom = read};
}
constexpr Field required(Field field) {
  field.required = true;
  return field;
}
constexpr Field old(Field field) {
  field.deprecated = true;
  return field;
}
constexpr Field among(Field field, WordList choices) {
  field.choices = choices;
  return field;
}

constexpr std::array<std::string_view, 3> kThinkingTypes{"enabled", "disabled", "adaptive"};
constexpr std::array<std::string_view, 1> kPredictionTypes{"content"};

constexpr std::string_view kObjects = R"({"type":"array","items":{"type":"object"}})";
constexpr std::string_view kWordSchema = R"({"type":"string","pattern":"^[a-z][a-z0-9_-]{0,31}$"})";
constexpr std::string_view kTextOrObject =
    R"({"oneOf":[{"type":"string"},{"type":"object"},{"type":"null"}]})";
constexpr std::string_view kAttributes =
    R"({"type":"object","maxProperties":64,"additionalProperties":{"type":"number","minimum":0,"maximum":1}})";

constexpr std::array kThinking{
    required(among(text("type", "`adaptive`: the model decides"), kThinkingTypes)),
    integer("budget_tokens", 1, kMost, "Absent: the model's default"),
};
constexpr std::array kStreamOptions{
    flag("include_usage", "Sends a last chunk with the usage", into_chat<&ChatRequestDraft::include_usage>,
         "false"),
    flag("include_obfuscation", "Adds text of random length to every chunk",
         into_chat<&ChatRequestDraft::include_obfuscation>, "false"),
};
constexpr std::array kSpeech{
    text("format", "wav, mp3, flac, opus, pcm16 …"),
    custom("voice", &read_voice, kTextOrObject, "The voice's name, or {id}"),
};
constexpr std::array kPrediction{
    required(among(text("type", ""), kPredictionTypes)),
    required(custom("content", &read_prediction_content,
                    R"({"oneOf":[{"type":"string"},{"type":"array","items":{"type":"object"}}]})", "")),
};

constexpr std::array kChatTable{
    required(
        custom("model", &read_chat_model,
               R"({"oneOf":[{"type":"string","minLength":1,"maxLength":256},)"
               R"({"type":"array","minItems":1,"maxItems":16,"items":{"type":"string"}},)"
               R"({"type":"object","required":["model"],"properties":{"model":{"type":"string"},)"
               R"("settings":{"type":"object"}}}]})",
               "`<provider>/<model>`. In a list, the first model is used and the others are fallbacks. In an "
               "object, the settings replace absent parameters")),
    custom("messages", &read_chat_messages,
           R"({"oneOf":[{"type":"string"},{"type":"null"},{"type":"array","items":{"type":"object",)"
           R"("required":["role"],"properties":{"role":{"type":"string","enum":["system","developer","user",)"
           R"("assistant","tool","function"]},"content":{"oneOf":[{"type":"string"},{"type":"null"},)"
           R"({"type":"array","items":{"type":"object","required":["type"],"properties":)"
           R"({"type":{"type":"string"}}}}]}}}}]})",
           "The conversation; a string is one user message. Required unless `input` is given"),
    custom(
        "input", &read_chat_input,
        R"({"oneOf":[{"type":"string"},{"type":"null"},{"type":"array","items":{"type":"object"}}]})",
        "Alternative to messages, in the form of the Responses API: a string, or a list of {role, content}, "
        "function_call "
        "and function_call_output items"),
    number("temperature", 0, 2, "Sampling temperature"),
    number("top_p", 0, 1, "Nucleus sampling"),
    old(integer("max_tokens", 1, kMost, "Use max_completion_tokens, which takes precedence")),
    integer("max_completion_tokens", 1, kMost,
            "Maximum number of generated tokens, including reasoning tokens"),
    number("presence_penalty", -2, 2, "Penalises tokens that have already appeared"),
    number("frequency_penalty", -2, 2, "Penalises tokens by how often they have appeared"),
    custom("logit_bias", &read_logit_bias,
           R"({"type":"object","additionalProperties":{"type":"number","minimum":-100,"maximum":100}})",
           "Token id to bias"),
    custom("stop", &read_stop,
           R"({"oneOf":[{"type":"string","minLength":1},{"type":"null"},)"
           R"({"type":"array","maxItems":4,"items":{"type":"string","minLength":1}}]})",
           "Up to 4 texts that stop the generation"),
    object("thinking", kThinking, "Reasoning before the answer"),
    integer("top_k", 0, kMost, "Samples from this number of most likely tokens"),
    text("system", "System prompt; takes precedence over messages of role system"),
    text("instructions", "System prompt; takes precedence over `system` and messages of role system"),
    open_object("generation_config", "Gemini's configuration; it is merged over the generated one"),
    custom("safety_settings", &read_safety_settings,
           R"({"type":"array","items":{"type":"object","required":["category","threshold"],"properties":)"
           R"({"category":{"type":"string"},"threshold":{"type":"string"}}}})",
           "For Gemini"),
    open_object("tool_config", "For Gemini: function_calling_config and others"),
    flag("disable_automatic_function_calling", "Return calls instead of executing them",
         into_chat<&ChatRequestDraft::automatic_off>),
    integer("seed", kLeast, kMost, "Seed for reproducible answers, as far as the provider supports it"),
    old(text("user", "The end user; use safety_identifier and prompt_cache_key")),
    integer("n", 1, 128, "Number of answers", into_chat<&ChatRequestDraft::n>, "1"),
    flag("stream", "Answer as Server-Sent Events", into_chat<&ChatRequestDraft::stream>, "false"),
    object("stream_options", kStreamOptions,
           "Only together with `stream`. If absent, the last chunk of a Mistral model has the usage"),
    custom("response_format", &read_response_format,
           R"({"type":"object","required":["type"],"properties":{"type":{"type":"string","enum":["text",)"
           R"("json_object","json_schema"]},"json_schema":{"type":"object","required":["name"],)"
           R"("properties":{"name":{"type":"string"},"strict":{"type":["boolean","null"]},)"
           R"("schema":{"type":["object","null"]}}}}})",
           "Refused for models whose provider does not honour it"),
    custom("tools", &read_chat_tools, kObjects, "Function tools and custom tools"),
    custom("tool_choice", &read_tool_choice, kTextOrObject,
           "none, auto, required (or any, which means the same), or the name of a tool in `tools`"),
    flag("parallel_tool_calls", "Allows several calls in one turn"),
    old(custom("functions", &read_chat_functions, kObjects, "Use tools")),
    old(custom("function_call", &read_function_call, kTextOrObject, "Use tool_choice")),
    flag("logprobs", "Log probabilities of the answer's tokens", into_chat<&ChatRequestDraft::logprobs>),
    integer("top_logprobs", 0, 20,
            "Number of most likely tokens to return at each position; only together with `logprobs`"),
    custom("reasoning_effort", &read_word, kWordSchema,
           "low, medium, high or another of the provider's words"),
    object("audio", kSpeech, "Settings of spoken answers; required if modalities has audio"),
    custom("modalities", &read_modalities, R"({"type":"array","items":{"type":"string"}})", "text, audio"),
    object("prediction", kPrediction, "The expected answer"),
    custom("metadata", &read_metadata_into<ChatRequestDraft, &ChatRequest::metadata>,
           R"({"type":"object","maxProperties":16,"additionalProperties":{"type":"string","maxLength":512}})",
           "Up to 16 pairs; keys of at most 64, values of at most 512 characters"),
    flag("store", "Whether the provider may keep the answer"),
    custom("service_tier", &read_word, kWordSchema, "auto, default or another of the provider's words"),
    text("prompt_cache_key", "Groups requests with a common prefix"),
    text("safety_identifier", "The end user, for the provider's safety checks"),
    custom("verbosity", &read_word, kWordSchema, "low, medium, high or another of the provider's words"),
    open_object("web_search_options", "The provider's web search"),
    open_object("search_parameters", "Search parameters of the provider"),
    flag("deferred", "Returns a request_id at once; the completion is fetched later",
         into_chat<&ChatRequestDraft::deferred>, "false"),
    custom("mcp_servers", &read_mcp_servers,
           R"({"oneOf":[{"type":"string"},{"type":"object"},{"type":"null"},)"
           R"({"type":"array","maxItems":16,"items":{"oneOf":[{"type":"string"},{"type":"object",)"
           R"("properties":{"slug":{"type":"string"},"version":{"type":"string"},"url":{"type":"string"},)"
           R"("name":{"type":"string"}}}]}}]})",
           "MCP servers whose tools the gateway executes: URLs, slugs, or objects with slug or url"),
    custom("guardrails", &read_guardrails, kObjects, "Reserved"),
    open_object("handoff_config", "Reserved"),
    custom("model_attributes", &read_model_attributes,
           R"({"type":"object","maxProperties":128,"additionalProperties":{"type":"object",)"
           R"("additionalProperties":{"type":"number","minimum":0,"maximum":1}}})",
           "For routing: per model, attributes from 0.0 to 1.0"),
    custom("agent_attributes", &read_agent_attributes, kAttributes, "For routing: what the request needs"),
    integer("max_turns", 1, kChatTurnsMax, "Maximum number of inferences of a request with tools",
            into_chat<&ChatRequestDraft::max_turns>, "10"),
    flag("auto_execute_tools", "False: tool calls are returned, not executed",
         into_chat<&ChatRequestDraft::execute_tools>, "true"),
};
static_assert(kChatTurnsDefault == 10 && kChatModelsMax == 16 && kMcpServersMax == 16,
              "the texts above name these");

constexpr std::array kMore{
    text("system_instruction", "Another name of `system`"),
    flag("automatic_tool_execution", "Another name of auto_execute_tools",
         into_chat<&ChatRequestDraft::other_execute_tools>),
    integer("priority", -100, 100, "Priority of a deferred request; higher values run first",
            into_chat<&ChatRequestDraft::priority>, "0"),
    run_at_field<ChatRequestDraft, &ChatRequestDraft::start>(),
    delay_field<ChatRequestDraft, &ChatRequestDraft::start>(),
    text("correlation_id", "Reserved"),
    custom("credentials", &read_credentials,
           R"({"oneOf":[{"type":"array"},{"type":"object"},{"type":"null"}]})", "Reserved"),
};

}  // namespace

std::span<const Field> chat_request_fields() { return kChatTable; }
std::span<const Field> chat_request_more_fields() { return kMore; }

}  // namespace millrace::schemas
