#include "ai/providers/anthropic/messages.h"

#include <array>

#include "ai/providers/anthropic/reply.h"
#include "ai/providers/tool_request.h"
#include "ai/providers/wire_text.h"
#include "platform/base/base64.h"
#include "schemas/chat/chat_request.h"

namespace millrace::providers {
namespace {

constexpr std::string_view kPdf = "application/pdf";

base::Error cannot(std::string_view what) {
  return base::error(base::Code::kInvalidField,
                     "messages: " + std::string(what) + " is not supported by Anthropic models", "messages");
}

Json base64_source(std::string_view media_type, std::string_view data) {
  return {{"type", "base64"}, {"media_type", media_type}, {"data", data}};
}

Json url_source(std::string_view url) { return {{"type", "url"}, {"url", url}}; }

Json block(std::string_view type, Json source) { return {{"type", type}, {"source", std::move(source)}}; }

Json image_block(const ContentPart& part) {
  if (!part.base64.empty()) {
    return block(part.media_type == kPdf ? "document" : "image", base64_source(part.media_type, part.base64));
  }
  return block(media_type_named(part.url) == kPdf ? "document" : "image", url_source(part.url));
}

base::Result<Json> document_source(const ContentPart& part) {
  if (!part.file_id.empty()) return Json{{"type", "file"}, {"file_id", part.file_id}};
  if (!part.url.empty()) return url_source(part.url);
  if (part.media_type == kPdf || part.media_type.empty()) return base64_source(kPdf, part.base64);
  if (!part.media_type.starts_with("text/") && part.media_type != "application/json") {
    return cannot("a file of type " + part.media_type);
  }
  std::optional<std::string> text = base::base64_decode(part.base64);
  if (!text) return cannot("a file that is not base64");
  return Json{{"type", "text"}, {"media_type", "text/plain"}, {"data", *std::move(text)}};
}

base::Result<Json> file_block(const ContentPart& part) {
  if (part.media_type.starts_with("image/") && part.file_id.empty()) return image_block(part);
  base::Result<Json> source = document_source(part);
  if (!source) return source.error();
  Json document = block("document", *std::move(source));
  if (!part.file_name.empty()) document["title"] = part.file_name;
  return document;
}

base::Result<Json> part_block(const ContentPart& part) {
  switch (part.kind) {
    case ContentPart::Kind::kText:
      return anthropic_text_block(part.text, nullptr);
    case ContentPart::Kind::kImage:
      return image_block(part);
    case ContentPart::Kind::kFile:
      return file_block(part);
    case ContentPart::Kind::kAudio:
      break;
  }
  return cannot("input_audio");
}

}  // namespace

Json anthropic_text_block(std::string_view text, const Json* cache_control) {
  Json made = {{"type", "text"}, {"text", text}};
  if (cache_control != nullptr) made["cache_control"] = *cache_control;
  return made;
}

base::Result<Json> anthropic_blocks(const Json* content, Parameters& report, bool& names_files) {
  const auto parts = read_content(content, report);
  if (!parts) return parts.error();
  Json blocks = Json::array();
  for (const ContentPart& part : *parts) {
    if (part.kind == ContentPart::Kind::kText && is_blank(part.text)) continue;
    base::Result<Json> made = part_block(part);
    if (!made) return made.error();
    if (part.cache_control != nullptr) (*made)["cache_control"] = *part.cache_control;
    if (!part.detail.empty() && part.detail != "auto") report.dropped("messages.detail");
    names_files = names_files || !part.file_id.empty();
    blocks.push_back(*std::move(made));
  }
  return blocks;
}

namespace {

bool is_type(const Json& block, std::string_view type) { return text_of(block, "type") == type; }

void move_into(Json& list, Json&& more) {
  for (Json& one : more) list.push_back(std::move(one));
}

Json call_block(const Json& call) {
  const Json* function = member(call, "function");
  if (function == nullptr) function = member(call, "custom");
  const Json* arguments = member(function, "arguments");
  if (arguments == nullptr) arguments = member(function, "input");
  return {{"type", "tool_use"},
          {"id", anthropic_call_id(text_of(call, "id"))},
          {"name", text_of(member(function, "name"))},
          {"input", arguments_object(text_of(arguments))}};
}

// Text, calls and thinking in the order in which the model produced them.
Json in_order(const Json& order, Json texts, Json calls) {
  Json all = Json::array();
  for (const Json& kept : order) {
    if (is_type(kept, "thinking") || is_type(kept, "redacted_thinking")) {
      all.push_back(kept);
    } else if (is_type(kept, "text")) {
      move_into(all, std::exchange(texts, Json::array()));
    } else {
      const std::string id = anthropic_call_id(text_of(kept, "id"));
      for (std::size_t i = 0; i < calls.size(); ++i) {
        if (text_of(calls[i], "id") != id) continue;
        all.push_back(std::move(calls[i]));
        calls.erase(i--);
      }
    }
  }
  move_into(all, std::move(texts));
  move_into(all, std::move(calls));
  return all;
}

class AnthropicConversation {
 public:
  explicit AnthropicConversation(Parameters& report) : report_(report) {}

  base::Status take(const Json& message) {
    const std::string_view role = text_of(message, "role");
    if (role == "system" || role == "developer") return take_system(message);
    if (role == "tool") return take_result(message);
    if (role == "assistant") return take_answer(message);
    if (member(message, "name") != nullptr) report_.dropped("messages.name");
    base::Result<Json> blocks = blocks_of(message);
    if (!blocks) return blocks.error();
    append("user", *std::move(blocks));
    return {};
  }

  base::Result<AnthropicMessages> finish() {
    Json& messages = turns_.messages;
    if (messages.empty()) append("user", std::exchange(turns_.system, Json::array()));
    if (messages.empty()) {
      return base::error(base::Code::kInvalidField, "messages: no message has content", "messages");
    }
    if (text_of(messages.front(), "role") != "user") {
      Json opening = {{"role", "user"}, {"content", Json::array({anthropic_text_block(kOpening, nullptr)})}};
      messages.insert(messages.begin(), std::move(opening));
    }
    trim_last();
    turns_.lacks_thinking = ends_thoughtless();
    return std::move(turns_);
  }

 private:
  base::Result<Json> blocks_of(const Json& message) {
    return anthropic_blocks(member(message, "content"), report_, turns_.names_files);
  }

  base::Status take_system(const Json& message) {
    base::Result<Json> blocks = blocks_of(message);
    if (!blocks) return blocks.error();
    for (Json& block : *blocks) {
      if (!is_type(block, "text")) {
        return base::error(base::Code::kInvalidField, "messages: a system message may only have text",
                           "messages");
      }
      turns_.system.push_back(std::move(block));
    }
    return {};
  }

  base::Status take_result(const Json& message) {
    base::Result<Json> blocks = blocks_of(message);
    if (!blocks) return blocks.error();
    Json result = {{"type", "tool_result"},
                   {"tool_use_id", anthropic_call_id(text_of(message, "tool_call_id"))}};
    if (blocks->size() == 1 && is_type(blocks->front(), "text") && blocks->front().size() == 2) {
      result["content"] = std::move(blocks->front()["text"]);
    } else if (!blocks->empty()) {
      result["content"] = *std::move(blocks);
    }
    if (const Json* cache = member(message, "cache_control")) result["cache_control"] = *cache;
    append("user", Json::array({std::move(result)}));
    return {};
  }

  base::Status take_answer(const Json& message) {
    if (member(message, "name") != nullptr) report_.dropped("messages.name");
    base::Result<Json> texts = blocks_of(message);
    if (!texts) return texts.error();
    if (const Json* refusal = member(message, "refusal"); refusal != nullptr && !is_blank(text_of(refusal))) {
      texts->push_back(anthropic_text_block(text_of(refusal), nullptr));
    }
    Json calls = Json::array();
    if (const Json* given = member(message, "tool_calls"); given != nullptr && given->is_array()) {
      for (const Json& call : *given) calls.push_back(call_block(call));
    }
    const Json order = AnthropicReasoningState::blocks(text_of(message, schemas::kReasoningStateMember));
    append("assistant", in_order(order, *std::move(texts), std::move(calls)));
    return {};
  }

  // Adjacent messages of one role become one turn. In a user turn, tool results come first.
  void append(std::string_view role, Json blocks) {
    if (blocks.empty()) return;
    Json& messages = turns_.messages;
    if (messages.empty() || text_of(messages.back(), "role") != role) {
      messages.push_back({{"role", role}, {"content", Json::array()}});
    }
    Json& content = messages.back()["content"];
    for (Json& block : blocks) {
      std::size_t at = content.size();
      if (is_type(block, "tool_result")) {
        for (at = 0; at < content.size() && is_type(content[at], "tool_result");) ++at;
      }
      content.insert(content.begin() + static_cast<std::ptrdiff_t>(at), std::move(block));
    }
  }

  // If the last message is the beginning of the answer, it must not end in white space.
  void trim_last() {
    Json& last = turns_.messages.back();
    Json& block = last["content"].back();
    if (text_of(last, "role") != "assistant" || !is_type(block, "text")) return;
    const std::string_view text = text_of(block, "text");
    block["text"] = std::string(text.substr(0, text.find_last_not_of(" \t\r\n") + 1));
  }

  bool ends_thoughtless() const {
    const Json& messages = turns_.messages;
    const std::size_t count = messages.size();
    if (count < 2 || !is_type(messages[count - 1]["content"].front(), "tool_result")) return false;
    const Json& first = messages[count - 2]["content"].front();
    return !is_type(first, "thinking") && !is_type(first, "redacted_thinking");
  }

  Parameters& report_;
  AnthropicMessages turns_;
};

}  // namespace

std::string anthropic_call_id(std::string_view id) {
  constexpr std::string_view kHex = "0123456789abcdef";
  std::string made;
  for (const char c : id) {
    const bool plain =
        (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' || c == '_';
    if (plain) {
      made.push_back(c);
    } else {
      const auto byte = static_cast<unsigned char>(c);
      made.append({'_', kHex[byte >> 4U], kHex[byte & 15U]});
    }
  }
  return made;
}

base::Result<AnthropicMessages> anthropic_messages(const Json& messages, Parameters& report) {
  AnthropicConversation turns(report);
  if (messages.is_array()) {
    for (const Json& message : messages) {
      if (base::Status taken = turns.take(message); !taken) return taken.error();
    }
  }
  return turns.finish();
}

}  // namespace millrace::providers
