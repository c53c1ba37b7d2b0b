#include "ai/inference/routing/price.h"

#include <algorithm>

namespace millrace::inference {
namespace {

constexpr double kPerMillion = 1e-6;

std::int64_t content_tokens(const nlohmann::json& content) {
  if (content.is_string()) return schemas::estimated_tokens(content.get_ref<const std::string&>());
  if (!content.is_array()) return 0;
  std::int64_t sum = 0;
  for (const nlohmann::json& part : content) {
    const auto text = part.is_object() ? part.find("text") : part.end();
    const bool is_text = part.is_object() && text != part.end() && text->is_string();
    sum += is_text ? schemas::estimated_tokens(text->get_ref<const std::string&>()) : kPartTokens;
  }
  return sum;
}

std::int64_t messages_tokens(const nlohmann::json& body) {
  std::int64_t sum = 0;
  const auto messages = body.find("messages");
  if (messages == body.end()) return sum;
  for (const nlohmann::json& message : *messages) {
    if (message.is_object() && message.contains("content")) sum += content_tokens(message["content"]);
  }
  return sum;
}

std::int64_t text_tokens(const std::optional<std::string>& content, const std::string& reasoning) {
  return schemas::estimated_tokens(content.value_or("")) + schemas::estimated_tokens(reasoning);
}

}  // namespace

double cost_of(const Price& price, const schemas::ChatUsage& usage) {
  const auto cached =
      static_cast<double>(std::clamp<std::int64_t>(usage.cached.value_or(0), 0, usage.prompt));
  const double uncached = static_cast<double>(usage.prompt) - cached;
  const double prompt = uncached * price.prompt + cached * price.cached.value_or(price.prompt);
  return (prompt + static_cast<double>(usage.completion) * price.completion) * kPerMillion;
}

std::int64_t estimated_prompt(const schemas::ChatRequest& request) {
  if (request.quick.empty()) return messages_tokens(request.body);
  return schemas::estimated_tokens(request.quick);
}

schemas::ChatUsage estimated_usage(std::int64_t prompt_tokens, std::int64_t completion_tokens) {
  schemas::ChatUsage usage;
  usage.prompt = prompt_tokens;
  usage.completion = completion_tokens;
  usage.total = usage.prompt + usage.completion;
  usage.estimated = true;
  return usage;
}

std::int64_t estimated_completion(const schemas::ChatPiece& piece) {
  std::int64_t sum = text_tokens(piece.content, piece.reasoning);
  for (const schemas::ToolCallPiece& call : piece.tool_calls)
    sum += schemas::estimated_tokens(call.name) + schemas::estimated_tokens(call.arguments);
  return sum;
}

std::int64_t estimated_completion(const schemas::ChatReply& reply) {
  std::int64_t sum = 0;
  for (const schemas::ChatChoice& choice : reply.choices) {
    sum += text_tokens(choice.content, choice.reasoning);
    for (const schemas::ToolCall& call : choice.tool_calls)
      sum += schemas::estimated_tokens(call.name) + schemas::estimated_tokens(call.arguments);
  }
  return sum;
}

}  // namespace millrace::inference
