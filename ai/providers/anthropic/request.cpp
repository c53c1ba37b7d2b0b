#include "ai/providers/anthropic/request.h"

#include <algorithm>
#include <array>

#include "ai/providers/anthropic/cache_marks.h"
#include "ai/providers/anthropic/messages.h"
#include "ai/providers/anthropic/model.h"
#include "ai/providers/anthropic/schema.h"
#include "ai/providers/content_part.h"
#include "ai/providers/history.h"
#include "ai/providers/json_schema.h"
#include "ai/providers/media_check.h"
#include "ai/providers/parameters.h"
#include "ai/providers/tool_pictures.h"
#include "ai/providers/tool_request.h"
#include "ai/providers/wire_text.h"
#include "platform/base/crypto.h"
#include "schemas/json/json_body.h"

namespace millrace::providers {
namespace {

constexpr std::size_t kUserBytesMax = 64;

void write_limit(const Target& target, const ClaudeModel& model, Parameters& parameters, Json& wire) {
  const std::int64_t bound = target.output_max.value_or(model.output_default());
  const std::optional<std::int64_t> requested = integer_of(parameters.take("max_completion_tokens"));
  std::int64_t max_tokens = requested.value_or(bound);
  if (target.output_max && max_tokens > *target.output_max) {
    parameters.clamped("max_completion_tokens");
    max_tokens = *target.output_max;
  }
  wire["max_tokens"] = std::max<std::int64_t>(max_tokens, 1);
}

void write_stop(Parameters& parameters, Json& wire) {
  const Json* stop = parameters.take("stop");
  if (stop == nullptr || !stop->is_array()) return;
  Json kept = Json::array();
  for (const Json& sequence : *stop) {
    if (!is_blank(text_of(&sequence))) kept.push_back(sequence);
  }
  if (kept.size() < stop->size()) kept.empty() ? parameters.dropped("stop") : parameters.clamped("stop");
  if (!kept.empty()) wire["stop_sequences"] = std::move(kept);
}

void write_format(const ClaudeModel& model, Parameters& parameters, StrictBudget& budget, Json& wire) {
  const Json* format = parameters.take("response_format");
  if (format == nullptr || text_of(*format, "type") == "text") return;
  const Json* schema = member(member(*format, "json_schema"), "schema");
  if (schema == nullptr) return parameters.dropped("response_format");
  std::optional<SubsetSchema> strict;
  if (model.supports_formats()) strict = anthropic_strict_schema(*schema);
  const bool fits = strict && budget.admit(strict->schema);
  if (!fits || strict->is_loosened) parameters.clamped("response_format");  // so that the answer is checked
  if (!fits) return wire["system"].push_back({{"type", "text"}, {"text", format_in_words(*schema)}});
  wire["output_config"]["format"] = {{"type", "json_schema"}, {"schema", std::move(strict->schema)}};
}

// A telephone number, or only digits.
bool is_number(std::string_view id) {
  constexpr std::size_t kDigitsMin = 7;
  const auto is_digit = [](char c) { return c >= '0' && c <= '9'; };
  return std::ranges::count_if(id, is_digit) >= static_cast<std::ptrdiff_t>(kDigitsMin) &&
         id.find_first_not_of("0123456789+-.()") == std::string_view::npos;
}

// Anthropic rejects names, e-mail addresses and telephone numbers.
bool is_personal(std::string_view id) {
  return id.find_first_of("@ \t\r\n") != std::string_view::npos || is_number(id);
}

void write_user(const std::string& tenant, Parameters& parameters, Json& wire) {
  const Json* safety = parameters.take("safety_identifier");
  const Json* user = parameters.take("user");
  if (safety != nullptr && user != nullptr) parameters.dropped("user");
  const std::string_view id = text_of(safety != nullptr ? safety : user);
  if (id.empty()) return;
  Json& sent = wire["metadata"]["user_id"];
  sent = id;
  if (id.size() <= kUserBytesMax && !is_personal(id)) return;
  sent = base::hex(base::sha256(std::string(tenant).append("\n").append(id)));
  parameters.clamped(safety != nullptr ? "safety_identifier" : "user");
}

void write_tier(Parameters& parameters, Json& wire) {
  const Json* tier = parameters.take("service_tier");
  if (tier == nullptr) return;
  if (text_of(tier) == "auto") {
    wire["service_tier"] = "auto";
  } else if (text_of(tier) == "default") {
    wire["service_tier"] = "standard_only";
  } else {
    parameters.dropped("service_tier");
  }
}

// Beta features that the request must name in a header.
std::string betas(const AnthropicMessages& turns, const ClaudeModel& model, const Json& wire) {
  std::string names;
  const auto add = [&](std::string_view name) { names.append(names.empty() ? "" : ",").append(name); };
  if (turns.names_files) add("files-api-2025-04-14");
  const bool thinks_by_budget =
      wire.contains("thinking") && text_of(wire["thinking"], "type") == "enabled" && wire.contains("tools");
  if (thinks_by_budget && model.is_claude && model.at_least(4, 0)) add("interleaved-thinking-2025-05-14");
  return names;
}

}  // namespace

base::Result<WireRequest> anthropic_request(const Target& target, const schemas::ChatRequest& request,
                                            bool stream) {
  if (const base::Status checked = check_media(target, request); !checked) return checked.error();
  const ClaudeModel model = claude_model(target.model);
  Parameters parameters(target.preset->dialect, request);
  const Json* messages = parameters.take("messages");
  Json shown;
  if (messages != nullptr && has_pictures(*messages)) {
    shown = *messages;
    show_pictures(target, shown);
    messages = &shown;
  }
  base::Result<AnthropicMessages> turns =
      anthropic_messages(messages != nullptr ? *messages : Json::array(), model, parameters);
  if (!turns) return turns.error();

  Json wire = {{"model", target.model}, {"messages", std::move(turns->messages)}};
  if (!turns->system.empty()) wire["system"] = std::move(turns->system);
  if (stream) wire["stream"] = true;
  write_limit(target, model, parameters, wire);
  StrictBudget budget;
  write_format(model, parameters, budget, wire);
  const AnthropicTools tools = write_anthropic_tools(parameters, model, budget, request.old_functions, wire);
  write_anthropic_thinking(parameters, model,
                           {.forced_call = tools.forced_call, .lacks_thinking = turns->lacks_thinking}, wire);
  write_anthropic_sampling(parameters, model, wire);
  write_stop(parameters, wire);
  write_user(request.tenant, parameters, wire);
  write_tier(parameters, wire);
  limit_cache_marks(wire, parameters);

  WireRequest made;
  made.path = versioned_path(target.base_url, "/v1", "/messages");
  made.may_pause = has_server_tools(wire);
  made.headers = {{"Content-Type", "application/json"},
                  {std::string(kAnthropicVersion.first), std::string(kAnthropicVersion.second)}};
  if (std::string names = betas(*turns, model, wire); !names.empty()) {
    made.headers.emplace_back("anthropic-beta", std::move(names));
  }
  made.body = schemas::dump(wire);
  made.dropped = parameters.finish();
  made.loosened_tools = tools.loosened;
  return made;
}

namespace {

constexpr double kTemperatureMax = 1.0;
constexpr double kThinkingTopPMin = 0.95;

void write_budget(const ThinkingRequest& setting, const ThinkingObstacles& obstacles, Parameters& report,
                  Json& wire) {
  const std::int64_t budget_max = wire["max_tokens"].get<std::int64_t>() - 1;
  std::optional<std::int64_t> requested = setting.budget;
  if (setting.by_thinking) {
    if (!setting.effort.empty()) report.dropped("reasoning_effort");
    if (setting.adaptive) report.clamped("thinking");
  } else {
    requested = budget_of_effort(setting.effort);
    if (!requested) return setting.drop(report);
  }
  if (obstacles.forced_call || obstacles.lacks_thinking || budget_max < kThinkingBudgetMin)
    return setting.drop(report);
  const std::int64_t budget =
      std::clamp(requested.value_or(kThinkingBudgetDefault), kThinkingBudgetMin, budget_max);
  if (setting.by_thinking && requested && budget != *requested) report.clamped("thinking");
  wire["thinking"] = {{"type", "enabled"}, {"budget_tokens", budget}};
}

// The effort in a form that the model accepts; empty: unknown effort.
std::string_view known_effort(std::string_view effort, const ClaudeModel& model) {
  if (effort == "minimal" || effort == "none") return "low";
  if (effort == "xhigh" || effort == "max") return model.at_least(4, 7) ? effort : "high";
  const bool known = effort == "low" || effort == "medium" || effort == "high";
  return known ? effort : std::string_view();
}

void write_effort(std::string_view effort, const ClaudeModel& model, Parameters& report, Json& wire) {
  if (effort.empty()) return;
  const std::string_view level = known_effort(effort, model);
  if (level.empty()) return report.dropped("reasoning_effort");
  if (level != effort) report.clamped("reasoning_effort");
  wire["output_config"]["effort"] = level;
}

void write_adaptive(const ThinkingRequest& setting, const ThinkingObstacles& obstacles,
                    const ClaudeModel& model, Parameters& report, Json& wire) {
  write_effort(setting.effort, model, report, wire);
  if (obstacles.forced_call) {
    if (setting.by_thinking) report.dropped("thinking");
    return;
  }
  if (setting.budget) {
    report.clamped("thinking");
    if (setting.effort.empty()) wire["output_config"]["effort"] = effort_of_budget(*setting.budget);
  }
  wire["thinking"] = {{"type", "adaptive"}};
  if (model.hides_thinking()) wire["thinking"]["display"] = "summarized";
}

void write_off(const ThinkingRequest& setting, const ClaudeModel& model, Parameters& report, Json& wire) {
  if (model.always_thinks()) {
    if (setting.by_thinking) report.dropped("thinking");
    return write_effort(setting.effort, model, report, wire);
  }
  if (setting.by_thinking && model.can_disable_thinking()) wire["thinking"] = {{"type", "disabled"}};
  if (setting.by_thinking && !setting.effort.empty() && setting.effort != "none")
    report.dropped("reasoning_effort");
}

void write_temperature(const Json& temperature, bool thinks, Parameters& report, Json& wire) {
  if (!temperature.is_number()) return report.dropped("temperature");
  const double requested = temperature.get<double>();
  if (thinks) {
    if (requested != kTemperatureMax) report.dropped("temperature");
    return;
  }
  if (requested > kTemperatureMax || requested < 0) {
    report.clamped("temperature");
    wire["temperature"] = std::clamp(requested, 0.0, kTemperatureMax);
  } else {
    wire["temperature"] = temperature;
  }
}

void write_top_p(const Json& top_p, bool thinks, Parameters& report, Json& wire) {
  wire["top_p"] = top_p;
  if (!thinks || !top_p.is_number() || top_p.get<double>() >= kThinkingTopPMin) return;
  report.clamped("top_p");
  wire["top_p"] = kThinkingTopPMin;
}

}  // namespace

void write_anthropic_thinking(Parameters& parameters, const ClaudeModel& model,
                              const ThinkingObstacles& obstacles, Json& wire) {
  const ThinkingRequest setting = take_thinking(parameters);
  if (setting.kind == ThinkingRequest::Kind::kUnset) return;
  if (setting.kind == ThinkingRequest::Kind::kOff) return write_off(setting, model, parameters, wire);
  switch (model.thinking()) {
    case ClaudeModel::Thinking::kNone:
      return setting.drop(parameters);
    case ClaudeModel::Thinking::kBudget:
      return write_budget(setting, obstacles, parameters, wire);
    case ClaudeModel::Thinking::kAdaptive:
      return write_adaptive(setting, obstacles, model, parameters, wire);
  }
}

void write_anthropic_sampling(Parameters& parameters, const ClaudeModel& model, Json& wire) {
  const Json* temperature = parameters.take("temperature");
  const Json* top_p = parameters.take("top_p");
  const Json* top_k = parameters.take("top_k");
  if (top_k != nullptr && integer_of(top_k) == 0) top_k = nullptr;  // 0 means no limit, which is the default
  const bool thinks = wire.contains("thinking") && text_of(wire["thinking"], "type") != "disabled";
  if (!model.supports_sampling()) {
    if (temperature != nullptr) parameters.dropped("temperature");
    if (top_p != nullptr) parameters.dropped("top_p");
    if (top_k != nullptr) parameters.dropped("top_k");
    return;
  }
  if (temperature != nullptr) write_temperature(*temperature, thinks, parameters, wire);
  if (top_p != nullptr && wire.contains("temperature") && !model.supports_both_sampling()) {
    parameters.dropped("top_p");
  } else if (top_p != nullptr) {
    write_top_p(*top_p, thinks, parameters, wire);
  }
  if (top_k != nullptr && thinks) parameters.dropped("top_k");
  if (top_k != nullptr && !thinks) wire["top_k"] = *top_k;
}

namespace {

constexpr std::string_view kWebSearch = "web_search";

Json tool_block(const FunctionTool& tool, const ClaudeModel& model, Parameters& report, StrictBudget& budget,
                bool& is_loosened) {
  if (tool.parameters != nullptr && has_union_root(*tool.parameters)) report.clamped("tools");
  const bool is_strict = tool.strict && model.supports_formats();
  bool has_lost = false;
  Json schema = is_strict ? strict_object_schema(tool.parameters, has_lost)
                          : object_schema(tool.parameters != nullptr ? *tool.parameters : Json::object());
  Json made = {{"name", tool.name}};
  std::optional<SubsetSchema> strict;
  if (is_strict) strict = anthropic_strict_schema(schema);
  if (strict && !budget.admit_tool(strict->schema)) strict.reset();
  has_lost = has_lost || !strict || strict->is_loosened;
  if (tool.strict && has_lost) report.clamped("tools");
  is_loosened = is_loosened || (is_strict && has_lost);
  made["input_schema"] = strict ? std::move(strict->schema) : std::move(schema);
  if (!tool.description.empty()) made["description"] = tool.description;
  if (tool.cache_control != nullptr) made["cache_control"] = *tool.cache_control;
  if (strict) made["strict"] = true;
  return made;
}

Json choice_block(const ToolChoice& choice) {
  switch (choice.mode) {
    case ToolChoice::Mode::kNone:
      return {{"type", "none"}};
    case ToolChoice::Mode::kRequired:
      if (!choice.names.empty()) return {{"type", "tool"}, {"name", choice.names.front()}};
      return {{"type", "any"}};
    case ToolChoice::Mode::kUnset:
    case ToolChoice::Mode::kAuto:
      break;
  }
  return {{"type", "auto"}};
}

Json search_tool() { return {{"type", "web_search_20250305"}, {"name", kWebSearch}}; }

// OpenAI's web_search_options.
Json openai_search(const Json& options, Parameters& report) {
  Json tool = search_tool();
  if (const Json* place = member(options, "user_location")) {
    const Json* nested = member(place, "approximate");
    tool["user_location"] = nested != nullptr ? *nested : *place;
    tool["user_location"]["type"] = "approximate";
  }
  if (member(options, "search_context_size") != nullptr) report.clamped("web_search_options");
  return tool;
}

// xAI's search_parameters: only its web sources.
Json xai_search(const Json& requested, Parameters& report) {
  Json tool = search_tool();
  for (const auto& [name, value] : requested.items()) {
    if (name != "mode" && name != "sources") report.clamped("search_parameters");
  }
  const Json* sources = member(requested, "sources");
  if (sources == nullptr || !sources->is_array()) return tool;
  for (const Json& source : *sources) {
    if (text_of(source, "type") != "web") {
      report.clamped("search_parameters");
    } else if (const Json* allowed = member(source, "allowed_websites")) {
      tool["allowed_domains"] = *allowed;
    } else if (const Json* excluded = member(source, "excluded_websites")) {
      tool["blocked_domains"] = *excluded;
    }
  }
  return tool;
}

void write_search(Parameters& parameters, Json& tools) {
  const Json* options = parameters.take("web_search_options");
  const Json* requested = parameters.take("search_parameters");
  const bool is_off = requested != nullptr && text_of(*requested, "mode") == "off";
  if (options == nullptr && (requested == nullptr || is_off)) return;
  const std::string_view parameter = options != nullptr ? "web_search_options" : "search_parameters";
  if (options != nullptr && requested != nullptr && !is_off) parameters.dropped("search_parameters");
  for (const Json& tool : tools) {
    if (text_of(tool, "name") == kWebSearch) return parameters.dropped(parameter);
  }
  tools.push_back(options != nullptr ? openai_search(*options, parameters)
                                     : xai_search(*requested, parameters));
}

}  // namespace

bool has_server_tools(const Json& wire) {
  const Json* tools = member(wire, "tools");
  return tools != nullptr && std::any_of(tools->begin(), tools->end(), [](const Json& tool) {
           return member(tool, "input_schema") == nullptr;
         });
}

AnthropicTools write_anthropic_tools(Parameters& parameters, const ClaudeModel& model, StrictBudget& budget,
                                     bool one_call, Json& wire) {
  AnthropicTools written;
  const Json* given = parameters.take("tools");
  const Json* choice = parameters.take("tool_choice");
  const Json* parallel = parameters.take("parallel_tool_calls");
  static const Json kOff(false);
  if (one_call && parallel == nullptr && given != nullptr) parallel = &kOff;
  const ToolRequest request = read_tools(given, choice);
  if (request.others) parameters.dropped("tools");
  report_left_out_of_tools(Dialect::kAnthropic, given,
                           [&](const std::string& name) { parameters.dropped(name); });

  Json tools = Json::array();
  for (const FunctionTool& tool : request.tools)
    tools.push_back(tool_block(tool, model, parameters, budget, written.loosened));
  write_search(parameters, tools);
  if (tools.empty()) {
    if (choice != nullptr) parameters.dropped("tool_choice");
    if (parallel != nullptr) parameters.dropped("parallel_tool_calls");
    return written;
  }
  wire["tools"] = std::move(tools);
  if (choice == nullptr && parallel == nullptr) return written;
  Json tool_choice = choice_block(request.choice);
  if (parallel != nullptr && request.choice.mode != ToolChoice::Mode::kNone) {
    tool_choice["disable_parallel_tool_use"] = !is_true(parallel);
  }
  wire["tool_choice"] = std::move(tool_choice);
  written.forced_call = request.choice.mode == ToolChoice::Mode::kRequired;
  return written;
}

}  // namespace millrace::providers
