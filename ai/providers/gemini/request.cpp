#include "ai/providers/gemini/request.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <utility>

#include "ai/providers/gemini/candidate.h"
#include "ai/providers/gemini/messages.h"
#include "ai/providers/gemini/model.h"
#include "ai/providers/gemini/schema.h"
#include "ai/providers/history.h"
#include "ai/providers/json_schema.h"
#include "ai/providers/media_check.h"
#include "ai/providers/parameters.h"
#include "ai/providers/tool_pictures.h"
#include "ai/providers/tool_request.h"
#include "ai/providers/wire_text.h"
#include "schemas/json/json_body.h"

namespace millrace::providers {
namespace {

// A model's name in a path: percent-encodes everything except letters, digits and "-._~/".
std::string path_name(std::string_view name) {
  constexpr std::string_view kHex = "0123456789ABCDEF";
  std::string made;
  for (const char c : name) {
    const bool plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
                       std::string_view("-._~/").find(c) != std::string_view::npos;
    const auto byte = static_cast<unsigned char>(c);
    if (plain) {
      made.push_back(c);
    } else {
      made.append({'%', kHex[byte >> 4U], kHex[byte & 15U]});
    }
  }
  return made;
}

std::string path(const Target& target, bool stream) {
  std::string rest = "/" + gemini_model_path(target.model);
  rest.append(stream ? ":streamGenerateContent?alt=sse" : ":generateContent");
  return versioned_path(target.base_url, "/v1beta", rest);
}

}  // namespace

std::string gemini_model_path(std::string_view model) {
  const bool is_whole = model.starts_with("models/") || model.starts_with("tunedModels/");
  return (is_whole ? std::string() : std::string("models/")).append(path_name(model));
}

base::Result<WireRequest> gemini_request(const Target& target, const schemas::ChatRequest& request,
                                         bool stream) {
  if (const base::Status checked = check_media(target, request); !checked) return checked.error();
  const GeminiModel model = gemini_model(target.model);
  Parameters parameters(target.preset->dialect, request);
  const Json* messages = parameters.take("messages");
  Json shown;
  if (messages != nullptr && has_pictures(*messages)) {
    shown = *messages;
    show_pictures(target, shown);
    messages = &shown;
  }
  base::Result<GeminiContents> turns =
      gemini_contents(messages != nullptr ? *messages : Json::array(), model, parameters);
  if (!turns) return turns.error();

  Json wire = {{"contents", std::move(turns->contents)}};
  if (!turns->system_parts.empty()) wire["systemInstruction"] = {{"parts", std::move(turns->system_parts)}};
  const bool lost_strict = write_gemini_tools(parameters, model, wire);
  write_gemini_config(parameters, model, request.cap_output, wire);
  if (const Json* settings = parameters.take("safety_settings")) wire["safetySettings"] = *settings;

  WireRequest made;
  made.path = path(target, stream);
  made.headers = {{"Content-Type", "application/json"}};
  made.body = schemas::dump(wire);
  const auto count = integer_of(member(member(wire, "generationConfig"), "candidateCount"));
  made.choices = static_cast<int>(std::clamp<std::int64_t>(count.value_or(1), 1, kGeminiCandidatesMax));
  made.dropped = parameters.finish();
  made.loosened_tools = lost_strict;
  return made;
}

namespace {

// Sent unchanged under another name.
constexpr std::array<std::pair<std::string_view, std::string_view>, 6> kRenamed = {{
    {"temperature", "temperature"},
    {"top_p", "topP"},
    {"max_completion_tokens", "maxOutputTokens"},
    {"stop", "stopSequences"},
    {"presence_penalty", "presencePenalty"},
    {"frequency_penalty", "frequencyPenalty"},
}};

// Members that contain a schema, so their members must not be renamed.
constexpr std::array<std::string_view, 4> kSchemas = {"responseSchema", "responseJsonSchema",
                                                      "_responseJsonSchema", "parametersJsonSchema"};

std::string camel_case(std::string_view name) {
  std::string made;
  for (std::size_t i = 0; i < name.size(); ++i) {
    if (name[i] == '_' && i > 0 && i + 1 < name.size()) {
      made.push_back(static_cast<char>(std::toupper(static_cast<unsigned char>(name[++i]))));
    } else {
      made.push_back(name[i]);
    }
  }
  return made;
}

void write_seed(Parameters& parameters, Json& config) {
  const Json* seed = parameters.take("seed");
  if (seed == nullptr) return;
  const std::int64_t requested = integer_of(seed).value_or(INT64_MAX);
  const std::int64_t limited = std::clamp<std::int64_t>(requested, INT32_MIN, INT32_MAX);
  if (limited != requested) parameters.clamped("seed");
  config["seed"] = limited;
}

void write_logprobs(Parameters& parameters, Json& config) {
  const Json* requested = parameters.take("logprobs");
  const std::optional<std::int64_t> top = integer_of(parameters.take("top_logprobs"));
  if (!is_true(requested)) return;
  config["responseLogprobs"] = true;
  if (top.value_or(0) > 0) config["logprobs"] = *top;
}

bool is_json(const Json* format) { return format != nullptr && text_of(*format, "type") != "text"; }

// In the system prompt, a format leaves the model its functions. Without a schema there is nothing to check.
void put_in_words(const Json* schema, Parameters& parameters, Json& wire) {
  if (schema == nullptr) return parameters.dropped("response_format");
  parameters.clamped("response_format");
  wire["systemInstruction"]["parts"].push_back({{"text", format_in_words(*schema)}});
}

void write_format(Parameters& parameters, const GeminiModel& model, Json& wire, Json& config) {
  const Json* format = parameters.take("response_format");
  if (!is_json(format)) return;
  const Json* schema = member(member(*format, "json_schema"), "schema");
  if (!model.formats_with_tools() && wire.contains("tools")) return put_in_words(schema, parameters, wire);
  config["responseMimeType"] = "application/json";
  if (schema == nullptr) return;
  SubsetSchema made = gemini_answer_schema(*schema);
  config["responseJsonSchema"] = std::move(made.schema);
  if (made.is_loosened) parameters.clamped("response_format");
}

void write_voices(Parameters& parameters, Json& config) {
  if (const Json* modalities = parameters.take("modalities");
      modalities != nullptr && modalities->is_array()) {
    for (const Json& one : *modalities) {
      std::string name(text_of(&one));
      std::transform(name.begin(), name.end(), name.begin(),
                     [](char c) { return static_cast<char>(std::toupper(static_cast<unsigned char>(c))); });
      config["responseModalities"].push_back(std::move(name));
    }
  }
  const Json* audio = parameters.take("audio");
  if (audio == nullptr) return;
  if (text_of(*audio, "format") != "pcm16") parameters.clamped("audio");  // the only supported format
  const Json* voice = member(*audio, "voice");
  const std::string_view name =
      voice != nullptr && voice->is_string() ? text_of(voice) : text_of(member(voice, "id"));
  if (!name.empty()) config["speechConfig"]["voiceConfig"]["prebuiltVoiceConfig"]["voiceName"] = name;
}

// Two parameters set the same thing: removes ours if the caller gave `his`.
void yield_to(const Json& own, std::string_view his, std::string_view ours, Json& made) {
  if (member(own, his) != nullptr && made.is_object()) made.erase(std::string(ours));
}

Json in_camel_case(const Json& own) {
  if (own.is_array()) {
    Json made = Json::array();
    for (const Json& one : own) made.push_back(in_camel_case(one));
    return made;
  }
  if (!own.is_object()) return own;
  Json made = Json::object();
  for (const auto& [name, value] : own.items()) {
    std::string camel = camel_case(name);
    const bool is_schema = std::find(kSchemas.begin(), kSchemas.end(), camel) != kSchemas.end();
    made[std::move(camel)] = is_schema ? value : in_camel_case(value);
  }
  return made;
}

void overlay(Json& made, Json&& own) {
  if (!made.is_object() || !own.is_object()) {
    made = std::move(own);
    return;
  }
  for (auto& [name, value] : own.items()) {
    const bool is_schema = std::find(kSchemas.begin(), kSchemas.end(), name) != kSchemas.end();
    if (is_schema || !made.contains(name)) {
      made[name] = std::move(value);
    } else {
      overlay(made[name], std::move(value));
    }
  }
}

}  // namespace

void merge_gemini(Json& made, const Json& own) {
  Json words = in_camel_case(own);
  yield_to(words, "responseSchema", "responseJsonSchema", made);
  if (const Json* thinking = member(words, "thinkingConfig");
      thinking != nullptr && made.contains("thinkingConfig")) {
    yield_to(*thinking, "thinkingLevel", "thinkingBudget", made["thinkingConfig"]);
    yield_to(*thinking, "thinkingBudget", "thinkingLevel", made["thinkingConfig"]);
  }
  overlay(made, std::move(words));
}

namespace {

// `own` may contain a higher limit than the request, and set several choices: both would be paid for.
void cap_config(Parameters& parameters, const Json& limit, Json& config) {
  const Json* sent = member(config, "maxOutputTokens");
  const bool is_within =
      sent != nullptr && sent->is_number_integer() && integer_of(sent).value_or(0) > 0 && *sent <= limit;
  if (!is_within) config["maxOutputTokens"] = limit;
  if (config.erase("candidateCount") > 0 || !is_within) parameters.clamped("generation_config");
}

}  // namespace

void write_gemini_config(Parameters& parameters, const GeminiModel& model, bool cap_output, Json& wire) {
  Json config = Json::object();
  for (const auto& [name, wire_name] : kRenamed) {
    if (const Json* value = parameters.take(name)) config[std::string(wire_name)] = *value;
  }
  if (const Json* top_k = parameters.take("top_k"); top_k != nullptr && integer_of(top_k) != 0) {
    config["topK"] = *top_k;
  }
  write_seed(parameters, config);
  write_logprobs(parameters, config);
  write_format(parameters, model, wire, config);
  write_voices(parameters, config);
  write_gemini_thinking(parameters, model, config);
  if (const Json* own = parameters.take("generation_config")) {
    const Json limit = config.value("maxOutputTokens", Json());
    merge_gemini(config, *own);
    if (cap_output && !limit.is_null()) cap_config(parameters, limit, config);
  }
  if (!config.empty()) wire["generationConfig"] = std::move(config);
}

namespace {

constexpr std::int64_t kDynamicBudget = -1;  // the model decides

// Reports clamping for the parameter that was given.
void clamped(const ThinkingRequest& setting, Parameters& report) {
  report.clamped(setting.by_thinking ? "thinking" : "reasoning_effort");
}

void write_budget(const ThinkingRequest& setting, const GeminiModel& model, Parameters& report,
                  Json& config) {
  std::optional<std::int64_t> budget = setting.budget;
  if (!budget && !setting.effort.empty()) {
    budget = budget_of_effort(setting.effort);
    if (!budget) report.dropped("reasoning_effort");
    if (!budget && !setting.by_thinking) return;
  } else if (!setting.effort.empty()) {
    report.dropped("reasoning_effort");
  }
  const std::int64_t limited =
      budget ? std::clamp(*budget, model.budget_min(), model.budget_max()) : kDynamicBudget;
  if (setting.budget && limited != *setting.budget) report.clamped("thinking");
  config["thinkingConfig"] = {{"thinkingBudget", limited}, {"includeThoughts", true}};
}

void write_no_budget(const ThinkingRequest& setting, const GeminiModel& model, Parameters& report,
                     Json& config) {
  if (!model.can_disable_thinking()) clamped(setting, report);
  config["thinkingConfig"] = {{"thinkingBudget", model.can_disable_thinking() ? 0 : model.budget_min()}};
}

// Gemini's level for an effort; empty: none.
std::string_view level_word(std::string_view effort) {
  if (effort == "none") return "minimal";
  if (effort == "xhigh" || effort == "max") return "high";
  const bool known = effort == "minimal" || effort == "low" || effort == "medium" || effort == "high";
  return known ? effort : std::string_view();
}

void write_level(const ThinkingRequest& setting, const GeminiModel& model, Parameters& report, Json& config) {
  Json& thinking = config["thinkingConfig"];
  thinking = {{"includeThoughts", true}};
  if (setting.budget) {
    thinking["thinkingLevel"] = model.level(effort_of_budget(*setting.budget));
    report.clamped("thinking");
    if (!setting.effort.empty()) report.dropped("reasoning_effort");
    return;
  }
  if (setting.effort.empty()) return;
  const std::string_view word = level_word(setting.effort);
  if (word.empty()) {
    report.dropped("reasoning_effort");
    if (!setting.by_thinking) config.erase("thinkingConfig");
    return;
  }
  thinking["thinkingLevel"] = model.level(word);
  if (model.level(word) != setting.effort) report.clamped("reasoning_effort");
}

}  // namespace

void write_gemini_thinking(Parameters& parameters, const GeminiModel& model, Json& config) {
  const ThinkingRequest setting = take_thinking(parameters);
  if (setting.kind == ThinkingRequest::Kind::kUnset) return;
  const bool off = setting.kind == ThinkingRequest::Kind::kOff;
  if (off && setting.by_thinking && !setting.effort.empty()) parameters.dropped("reasoning_effort");
  switch (model.thinking()) {
    case GeminiModel::Thinking::kNone:
      if (!off) setting.drop(parameters);
      return;
    case GeminiModel::Thinking::kBudget:
      return off ? write_no_budget(setting, model, parameters, config)
                 : write_budget(setting, model, parameters, config);
    case GeminiModel::Thinking::kLevel:
      if (!off) return write_level(setting, model, parameters, config);
      clamped(setting, parameters);
      config["thinkingConfig"] = {{"thinkingLevel", model.level("minimal")}};
  }
}

namespace {

// True if a part of the schema describes members with any names, which Gemini's function declarations cannot
// express.
bool has_map(const Json& schema) {
  if (schema.is_array()) return std::ranges::any_of(schema, has_map);
  if (!schema.is_object()) return false;
  const auto has_members = [](const Json* named) { return named != nullptr && !named->empty(); };
  const Json* others = member(schema, "additionalProperties");
  const bool is_free = is_true(others) && !has_members(member(schema, "properties"));
  if (is_free || (others != nullptr && others->is_object())) return true;
  if (has_members(member(schema, "patternProperties"))) return true;
  constexpr std::array<std::string_view, 4> kNamed{"properties", "$defs", "definitions", "dependentSchemas"};
  constexpr std::array<std::string_view, 4> kValues{"enum", "const", "default", "examples"};
  return std::ranges::any_of(schema.items(), [&](const auto& each) {
    if (std::ranges::find(kValues, each.key()) != kValues.end()) return false;
    const bool is_named = std::ranges::find(kNamed, each.key()) != kNamed.end() && each.value().is_object();
    return is_named ? std::ranges::any_of(each.value(), has_map) : has_map(each.value());
  });
}

Json declaration(const FunctionTool& tool) {
  Json made = {{"name", tool.name}};
  if (!tool.description.empty()) made["description"] = tool.description;
  if (tool.parameters == nullptr) return made;
  Json parameters = gemini_parameters(*tool.parameters);
  const Json* properties = member(parameters, "properties");
  // Gemini rejects an object without properties, so a function without parameters gets no schema.
  if (properties != nullptr && !properties->empty()) made["parameters"] = std::move(parameters);
  return made;
}

Json calling_config(const ToolChoice& choice) {
  switch (choice.mode) {
    case ToolChoice::Mode::kNone:
      return {{"mode", "NONE"}};
    case ToolChoice::Mode::kRequired: {
      Json config = {{"mode", "ANY"}};
      if (!choice.names.empty()) config["allowedFunctionNames"] = choice.names;
      return config;
    }
    case ToolChoice::Mode::kUnset:
    case ToolChoice::Mode::kAuto:
      break;
  }
  return {{"mode", "AUTO"}};
}

// Gemini's search has no options: it is either on or off.
void write_search(Parameters& parameters, bool is_possible, Json& tools) {
  const Json* options = parameters.take("web_search_options");
  const Json* requested = parameters.take("search_parameters");
  if (requested != nullptr && text_of(*requested, "mode") == "off") requested = nullptr;
  if (options == nullptr && requested == nullptr) return;
  if (!is_possible) {
    if (options != nullptr) parameters.dropped("web_search_options");
    if (requested != nullptr) parameters.dropped("search_parameters");
    return;
  }
  tools.push_back({{"googleSearch", Json::object()}});
  if (options != nullptr && !options->empty()) parameters.clamped("web_search_options");
  if (requested == nullptr) return;
  for (const auto& [name, value] : requested->items()) {
    if (name != "mode") parameters.clamped("search_parameters");
  }
}

}  // namespace

namespace {

// Arguments in parts have a format of their own (partialArgs), in place of the arguments.
void leave_out_partial_arguments(Parameters& parameters, Json& config) {
  const auto calling = config.find("functionCallingConfig");
  if (calling == config.end() || !calling->is_object()) return;
  if (calling->erase("streamFunctionCallArguments") > 0) parameters.clamped("tool_config");
}

}  // namespace

bool write_gemini_tools(Parameters& parameters, const GeminiModel& model, Json& wire) {
  const Json* given = parameters.take("tools");
  const Json* choice = parameters.take("tool_choice");
  const ToolRequest request = read_tools(given, choice);
  if (request.others) parameters.dropped("tools");
  report_left_out_of_tools(Dialect::kGemini, given,
                           [&](const std::string& name) { parameters.dropped(name); });

  Json functions = Json::array();
  bool lost_strict = false;
  for (const FunctionTool& tool : request.tools) {
    lost_strict = lost_strict || tool.strict;
    const bool is_folded = tool.parameters != nullptr && has_union_root(*tool.parameters);
    const bool loses_map = tool.parameters != nullptr && has_map(*tool.parameters);
    if (tool.strict || is_folded || loses_map) parameters.clamped("tools");
    functions.push_back(declaration(tool));
  }
  const bool has_functions = !functions.empty();
  Json tools = Json::array();
  if (has_functions) tools.push_back({{"functionDeclarations", std::move(functions)}});
  const bool leaves_format = model.formats_with_tools() || !is_json(parameters.untaken("response_format"));
  write_search(parameters, has_functions ? model.searches_with_tools() : leaves_format, tools);
  if (!tools.empty()) wire["tools"] = std::move(tools);

  Json config = Json::object();
  if (choice != nullptr && has_functions) config["functionCallingConfig"] = calling_config(request.choice);
  if (choice != nullptr && !has_functions) parameters.dropped("tool_choice");
  if (const Json* own = parameters.take("tool_config")) merge_gemini(config, *own);
  leave_out_partial_arguments(parameters, config);
  if (!config.empty()) wire["toolConfig"] = std::move(config);
  return lost_strict;
}

}  // namespace millrace::providers
