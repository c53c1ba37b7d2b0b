#include "ai/providers/anthropic_reply.h"

#include <algorithm>
#include <array>
#include <utility>

#include "ai/providers/anthropic_citations.h"
#include "ai/providers/anthropic_continuity.h"
#include "ai/providers/upstream_words.h"
#include "ai/providers/wire_words.h"
#include "schemas/json_body.h"

namespace millrace::providers {
namespace {

constexpr std::array<std::pair<std::string_view, int>, 10> kErrorStatus = {{
    {"invalid_request_error", 400},
    {"authentication_error", 401},
    {"billing_error", 402},
    {"permission_error", 403},
    {"not_found_error", 404},
    {"request_too_large", 413},
    {"rate_limit_error", 429},
    {"api_error", 500},
    {"timeout_error", 504},
    {"overloaded_error", 529},
}};

void take_count(const Json& usage, std::string_view name, std::int64_t& count) {
  count = std::max<std::int64_t>(integer_of(usage, name).value_or(count), 0);
}

void add_text(schemas::ChatChoice& choice, std::string_view text) {
  if (!choice.content) choice.content.emplace();
  choice.content->append(text);
}

void take_text(const Json& block, schemas::ChatChoice& choice, AnthropicCitations& citations) {
  citations.begin_block(block);
  add_text(choice, text_of(block, "text"));
  citations.say(text_of(block, "text"));
  citations.end_block();
}

void take_block(const Json& block, schemas::ChatChoice& choice, AnthropicContinuity& continuity,
                AnthropicCitations& citations) {
  const std::string_view type = text_of(block, "type");
  if (type == "text") {
    take_text(block, choice, citations);
    continuity.text();
  } else if (type == "thinking") {
    choice.reasoning.append(text_of(block, "thinking"));
    continuity.thinking(text_of(block, "thinking"), text_of(block, "signature"));
  } else if (type == "redacted_thinking") {
    continuity.redacted(text_of(block, "data"));
  } else if (type == "tool_use") {
    const Json* input = member(block, "input");
    choice.tool_calls.push_back({.id = std::string(text_of(block, "id")),
                                 .type = "function",
                                 .name = std::string(text_of(block, "name")),
                                 .arguments = input != nullptr ? schemas::dump(*input) : "{}"});
    continuity.call(text_of(block, "id"));
  }
}

}  // namespace

std::string anthropic_finish_reason(std::string_view stop_reason) {
  if (stop_reason == "max_tokens" || stop_reason == "model_context_window_exceeded") return "length";
  if (stop_reason == "tool_use") return "tool_calls";
  if (stop_reason == "refusal") return "content_filter";
  return "stop";
}

base::Error anthropic_error(const Target& target, const Json& said) {
  const std::string_view type = text_of(said, "type");
  const auto* const known = std::find_if(kErrorStatus.begin(), kErrorStatus.end(),
                                         [&](const auto& one) { return one.first == type; });
  return stream_error(target, known == kErrorStatus.end() ? 0 : known->second,
                      upstream_words(text_of(said, "message")));
}

std::string_view anthropic_refusal(const Json& message) {
  const Json* details = member(message, "stop_details");
  return details == nullptr ? std::string_view() : text_of(*details, "explanation");
}

void AnthropicUsage::take(const Json* usage) {
  if (usage == nullptr || !usage->is_object()) return;
  said_ = true;
  take_count(*usage, "input_tokens", input_);
  take_count(*usage, "cache_read_input_tokens", cache_read_);
  take_count(*usage, "cache_creation_input_tokens", cache_write_);
  take_count(*usage, "output_tokens", output_);
  if (const auto thinking = integer_of(member(member(*usage, "output_tokens_details"), "thinking_tokens"))) {
    thinking_ = thinking;
  }
  if (const std::string_view tier = text_of(*usage, "service_tier"); !tier.empty()) {
    service_tier_ = service_tier_word(tier);
  }
}

std::optional<schemas::ChatUsage> AnthropicUsage::usage() const {
  if (!said_) return std::nullopt;
  schemas::ChatUsage usage;
  usage.prompt = input_ + cache_read_ + cache_write_;
  usage.completion = output_;
  usage.total = usage.prompt + usage.completion;
  usage.cached = cache_read_;
  usage.reasoning = thinking_;
  return usage;
}

base::Result<schemas::ChatReply> anthropic_reply(const Target& target, std::string_view body) {
  const std::optional<Json> message = parse_wire(body);
  if (!message) return not_a_reply(target);
  if (const Json* said = member(*message, "error")) return anthropic_error(target, *said);
  const Json* content = member(*message, "content");
  if (content == nullptr || !content->is_array()) return not_a_reply(target);

  schemas::ChatReply reply;
  reply.id = text_of(*message, "id");
  reply.model = text_of(*message, "model");
  schemas::ChatChoice& choice = reply.choices.emplace_back();
  AnthropicContinuity continuity;
  AnthropicCitations citations;
  for (const Json& block : *content) take_block(block, choice, continuity, citations);
  citations.tell(choice.extra);
  choice.finish_reason = anthropic_finish_reason(text_of(*message, "stop_reason"));
  if (const std::string_view why = anthropic_refusal(*message); !why.empty()) choice.refusal = why;
  if (!choice.content && choice.tool_calls.empty()) choice.content = "";
  choice.continuity = continuity.take();

  AnthropicUsage usage;
  usage.take(member(*message, "usage"));
  reply.usage = usage.usage();
  reply.service_tier = usage.service_tier();
  return reply;
}

}  // namespace millrace::providers
