#include "ai/providers/openai_request.h"

#include <algorithm>
#include <optional>

#include "ai/providers/model_rules.h"
#include "ai/providers/openai_splice.h"
#include "ai/providers/wire_words.h"
#include "schemas/json_body.h"
#include "schemas/json_text.h"

namespace millrace::providers {
namespace {

using nlohmann::json;
using How = schemas::DroppedParam::How;

constexpr double kMistralTemperatureMax = 1.5;
constexpr double kGroqTemperatureMin = 1e-8;

// The value that a parameter has anyway where a model takes no other.
bool is_only_value(std::string_view parameter, const json& value) {
  if (parameter == "temperature" || parameter == "top_p") return value == 1;
  if (parameter == "presence_penalty" || parameter == "frequency_penalty") return value == 0;
  return false;
}

class Writer {
 public:
  Writer(const Target& target, const schemas::ChatRequest& request)
      : target_(target), dialect_(target.preset->dialect), request_(request), out_(4096) {}

  WireRequest write(bool stream) {
    out_.member("model", target_.model);
    for (const auto& [name, value] : request_.body.items()) parameter(name, value);
    tell_n();
    if (stream) tell_stream(dialect_, out_);
    WireRequest wire = openai_wire(stream);
    wire.body = out_.finish();
    wire.dropped = std::move(dropped_);
    wire.choices = choices_;
    return wire;
  }

 private:
  void parameter(const std::string& name, const json& value) {
    if (name == "n" || name == "model" || name == "stream" || name == "stream_options") return;
    if (name == "messages") {
      out_.raw(name, openai_messages(target_, value, dropped_));
      return;
    }
    const std::optional<Support> how = support(target_, name);
    if (!how) {  // unknown fields pass through
      tell(name, value);
    } else if (*how == Support::kDropped || loses_to_reasoning(name)) {
      is_kept(name, value) ? tell(name, value) : report(name, How::kDropped);
    } else {
      known(name, value);
    }
  }

  bool loses_to_reasoning(std::string_view name) const {
    if (name != "temperature" && name != "top_p" && name != "logprobs" && name != "top_logprobs")
      return false;
    if (!samples_unless_reasoning(target_)) return false;
    const auto effort = request_.body.find("reasoning_effort");
    return effort != request_.body.end() && *effort != "none";
  }

  bool is_kept(std::string_view name, const json& value) const {
    return dialect_ == Dialect::kOpenai && is_only_value(name, value);
  }

  void known(const std::string& name, const json& value) {
    if (name == "max_completion_tokens") {
      tell(takes_max_tokens(dialect_) ? "max_tokens" : name, value);
    } else if (name == "temperature") {
      temperature(value);
    } else if (name == "seed" && dialect_ == Dialect::kMistral) {
      tell("random_seed", value);
    } else if (name == "user") {
      user(value);
    } else if (name == "thinking") {
      thinking(value);
    } else if (name == "tool_choice" && dialect_ == Dialect::kMistral && value == "required") {
      out_.member(name, "any");
    } else if (name == "service_tier" && dialect_ == Dialect::kGroq && value == "default") {
      out_.member(name, "on_demand");
      report(name, How::kClamped);
    } else if (value.is_string() && !takes_word(target_, name, value.get_ref<const std::string&>())) {
      report(name, How::kDropped);
    } else {
      tell(name, value);
    }
  }

  void temperature(const json& value) {
    const double given = value.is_number() ? value.get<double>() : 0;
    double told = given;
    if (dialect_ == Dialect::kMistral) told = std::min(given, kMistralTemperatureMax);
    if (dialect_ == Dialect::kGroq) told = std::max(given, kGroqTemperatureMin);
    if (!value.is_number() || told == given) return tell("temperature", value);
    tell("temperature", told);
    report("temperature", How::kClamped);
  }

  void user(const json& value) {
    const auto* text = value.get_ptr<const std::string*>();
    if (text == nullptr) return tell("user", value);
    const std::string_view told = first_characters(*text, kUserCharactersMax);
    out_.member("user", told);
    if (told.size() < text->size()) report("user", How::kClamped);
  }

  // {"type": enabled | disabled | adaptive, "budget_tokens"?}: whether to think can be told, how long cannot.
  void thinking(const json& value) {
    const std::string type = value.is_object() ? value.value("type", std::string()) : std::string();
    const bool on = type != "disabled";
    if (dialect_ == Dialect::kLocal && target_.preset->name != "ollama") {
      out_.raw("chat_template_kwargs", on ? R"({"enable_thinking":true})" : R"({"enable_thinking":false})");
      if (value.contains("budget_tokens")) report("thinking", How::kClamped);
      return;
    }
    if (request_.body.contains("reasoning_effort")) return report("thinking", How::kDropped);
    const std::string_view effort = thinking_effort(on);
    if (effort.empty()) return report("thinking", How::kDropped);
    out_.member("reasoning_effort", effort);
    report("thinking", How::kClamped);
  }

  std::string_view thinking_effort(bool on) const {
    const auto taken = [&](std::string_view word) { return takes_word(target_, "reasoning_effort", word); };
    if (!on) return taken("none") ? "none" : "";
    if (dialect_ == Dialect::kGroq && taken("default")) return "default";
    return taken("medium") ? "medium" : "";
  }

  void tell_n() {
    if (request_.n <= 1) return;
    if (support(target_, "n") == Support::kNative) {
      out_.number("n", request_.n);
      choices_ = request_.n;
    } else {
      report("n", How::kEmulated);
    }
  }

  void tell(std::string_view name, const json& value) { out_.raw(name, schemas::dump(value)); }
  void report(std::string_view name, How how) { dropped_.push_back({std::string(name), how}); }

  const Target& target_;
  Dialect dialect_;
  const schemas::ChatRequest& request_;
  schemas::JsonObject out_;
  schemas::DroppedParams dropped_;
  int choices_ = 1;
};

}  // namespace

base::Result<WireRequest> openai_request(const Target& target, const schemas::ChatRequest& request,
                                         bool stream) {
  if (request.quick.empty()) return Writer(target, request).write(stream);
  if (auto told = openai_splice(target, request, stream)) return *std::move(told);
  schemas::ChatRequest formed = request;
  schemas::form_body(formed);
  return Writer(target, formed).write(stream);
}

}  // namespace millrace::providers
