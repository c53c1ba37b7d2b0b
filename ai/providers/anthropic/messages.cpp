#include "ai/providers/anthropic/messages.h"

#include <algorithm>
#include <array>

#include "ai/providers/anthropic/cache_marks.h"
#include "ai/providers/anthropic/reply.h"
#include "ai/providers/call_ids.h"
#include "ai/providers/history.h"
#include "ai/providers/text_file.h"
#include "ai/providers/tool_request.h"
#include "ai/providers/wire_text.h"
#include "platform/base/base64.h"
#include "schemas/chat/chat_request.h"

namespace millrace::providers {
namespace {

constexpr std::string_view kPdf = "application/pdf";
constexpr std::string_view kCacheMark = "messages.cache_control";

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

base::Error not_text(const ContentPart& part) {
  constexpr std::size_t kNameShown = 128;
  const std::string name(cut_text(part.file_name, kNameShown));
  std::string message = "messages: the file " + (name.empty() ? "without a name" : "'" + name + "'");
  message += part.charset.empty()
                 ? " is not text in UTF-8 or, with a byte order mark, UTF-16"
                 : " is not text in the charset '" + std::string(cut_text(part.charset, 64)) + "'";
  return base::error(base::Code::kBadRequest,
                     message +
                         "; convert it to UTF-8, or give its charset in the data URI, such as "
                         "data:text/csv;charset=iso-8859-1;base64,",
                     "messages");
}

base::Result<Json> document_source(const ContentPart& part) {
  if (!part.file_id.empty()) return Json{{"type", "file"}, {"file_id", part.file_id}};
  if (!part.url.empty()) return url_source(part.url);
  if (part.media_type == kPdf || part.media_type.empty()) return base64_source(kPdf, part.base64);
  if (!part.media_type.starts_with("text/") && part.media_type != "application/json") {
    return cannot("a file of type " + part.media_type);
  }
  const std::optional<std::string> bytes = base::base64_decode(part.base64);
  if (!bytes) return cannot("a file that is not base64");
  std::optional<std::string> text = utf8_text(*bytes, part.charset);
  if (!text) return not_text(part);
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
    if (part.kind == ContentPart::Kind::kText && is_blank(part.text)) {
      const Json* mark = part.cache_control;  // for what is before it
      if (mark != nullptr && !mark_last(blocks, *mark)) report.dropped(kCacheMark);
      continue;
    }
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
  Json block = {{"type", "tool_use"},
                {"id", anthropic_call_id(text_of(call, "id"))},
                {"name", text_of(member(function, "name"))},
                {"input", arguments_object(text_of(arguments))}};
  if (const Json* mark = member(call, "cache_control")) block["cache_control"] = *mark;
  return block;
}

bool is_thought(const Json& block) {
  return is_type(block, "thinking") || is_type(block, "redacted_thinking");
}

// The blocks of LiteLLM's thinking_blocks that Anthropic accepts: those with a signature. Other
// members, such as a cache mark, are left out.
Json signed_blocks(const Json* given) {
  Json blocks = Json::array();
  if (given == nullptr || !given->is_array()) return blocks;
  for (const Json& block : *given) {
    const char* proof = is_type(block, "thinking") ? "signature" : "data";
    if (!is_thought(block) || text_of(block, proof).empty()) continue;
    Json& kept = blocks.emplace_back(Json::object());
    for (const char* name : {"type", "thinking", "signature", "data"}) {
      if (const Json* value = member(block, name)) kept[name] = *value;
    }
  }
  return blocks;
}

Json thoughts_in(const Json& order) {
  Json thoughts = Json::array();
  for (const Json& block : order) {
    if (is_thought(block)) thoughts.push_back(block);
  }
  return thoughts;
}

// The state of a turn that was paused has its texts too, with their citations.
bool has_texts(const Json& order) {
  return std::any_of(order.begin(), order.end(), [](const Json& block) {
    return is_type(block, "text") && member(block, "text") != nullptr;
  });
}

// Text, calls, thinking and Anthropic's own tools in the order in which the model produced them.
Json in_order(const Json& order, Json texts, Json calls) {
  Json all = Json::array();
  for (const Json& kept : order) {
    if (is_type(kept, "text") && member(kept, "text") == nullptr) {
      move_into(all, std::exchange(texts, Json::array()));
    } else if (!is_type(kept, "tool_use")) {
      all.push_back(kept);
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
  AnthropicConversation(const ClaudeModel& model, Parameters& report) : model_(model), report_(report) {}

  base::Status take(const Json& message) {
    const std::string_view role = text_of(message, "role");
    report_left_out(Dialect::kAnthropic, message, [this](const std::string& name) { report_.dropped(name); });
    if (role == "system" || role == "developer") return take_system(message);
    if (role == "tool") return take_result(message);
    if (role == "assistant") return take_answer(message);
    base::Result<Json> blocks = blocks_of(message);
    if (!blocks) return blocks.error();
    mark(message, *blocks);
    append("user", *std::move(blocks));
    return {};
  }

  base::Result<AnthropicMessages> finish() {
    Json& messages = turns_.messages;
    if (messages.empty() && !turns_.system.empty()) {
      append("user", std::exchange(turns_.system, Json::array()));
      report_.clamped(kMovedSystem);
    }
    if (messages.empty()) {
      return base::error(base::Code::kInvalidField, "messages: no message has content", "messages");
    }
    if (text_of(messages.front(), "role") != "user") {
      Json opening = {{"role", "user"}, {"content", Json::array({anthropic_text_block(kOpening, nullptr)})}};
      messages.insert(messages.begin(), std::move(opening));
    }
    end_with_user();
    end_turn();
    trim_last();
    fit_ids(messages);
    turns_.lacks_thinking = ends_thoughtless();
    return std::move(turns_);
  }

 private:
  base::Result<Json> blocks_of(const Json& message) {
    return anthropic_blocks(member(message, "content"), report_, turns_.names_files);
  }

  // A mark of a message is one of its last block.
  void mark(const Json& message, Json& blocks) {
    const Json* mark = member(message, "cache_control");
    if (mark != nullptr && !mark_last(blocks, *mark)) report_.dropped(kCacheMark);
  }

  base::Status take_system(const Json& message) {
    base::Result<Json> blocks = blocks_of(message);
    if (!blocks) return blocks.error();
    if (!turns_.messages.empty()) report_.clamped(kMovedSystem);
    mark(message, *blocks);
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
    base::Result<Json> texts = blocks_of(message);
    if (!texts) return texts.error();
    if (const Json* refusal = member(message, "refusal"); refusal != nullptr && !is_blank(text_of(refusal))) {
      texts->push_back(anthropic_text_block(text_of(refusal), nullptr));
    }
    Json calls = Json::array();
    if (const Json* given = member(message, "tool_calls"); given != nullptr && given->is_array()) {
      for (const Json& call : *given) calls.push_back(call_block(call));
    }
    const Json order = thoughts_of(message);
    is_paused_ = calls.empty() && !text_of(message, schemas::kReasoningStateMember).empty();
    if (has_texts(order)) texts = Json::array();
    Json blocks = in_order(order, *std::move(texts), std::move(calls));
    mark(message, blocks);
    append("assistant", std::move(blocks));
    return {};
  }

  // Reasoning goes back only if Anthropic has signed it.
  Json thoughts_of(const Json& message) {
    Json order = AnthropicReasoningState::blocks(text_of(message, schemas::kReasoningStateMember));
    Json own = signed_blocks(member(message, "thinking_blocks"));
    if (!own.empty() && own != thoughts_in(order)) order = std::move(own);  // the client's own counts
    if (std::any_of(order.begin(), order.end(), is_thought)) return order;
    for (const char* name : {"reasoning_content", "reasoning", "thinking_blocks"}) {
      const Json* lost = member(message, name);
      if (lost != nullptr && !is_nothing(*lost))
        report_.dropped(history_name(HistoryPlace::kAssistant, name));
    }
    return order;
  }

  // Adjacent messages of one role become one turn. In a user turn, tool results come first.
  void append(std::string_view role, Json blocks) {
    if (blocks.empty()) return;
    Json& messages = turns_.messages;
    if (messages.empty() || text_of(messages.back(), "role") != role) {
      end_turn();
      messages.push_back({{"role", role}, {"content", Json::array()}});
    }
    move_into(messages.back()["content"], std::move(blocks));
  }

  void end_turn() {
    if (turns_.messages.empty()) return;
    Json& blocks = turns_.messages.back()["content"];
    std::ranges::stable_partition(blocks.get_ref<Json::array_t&>(),
                                  [](const Json& block) { return is_type(block, "tool_result"); });
  }

  // If the last message is the beginning of the answer, models that do not take it get a request to continue.
  // A turn that Anthropic has paused goes back as it is.
  void end_with_user() {
    const Json& last = turns_.messages.back();
    if (model_.supports_prefill() || is_paused_ || text_of(last, "role") != "assistant") return;
    if (!is_type(last["content"].back(), "text")) return;
    append("user", Json::array({anthropic_text_block(kContinue, nullptr)}));
    report_.clamped("messages");
  }

  // If the last message is the beginning of the answer, it must not end in white space.
  void trim_last() {
    Json& last = turns_.messages.back();
    Json& block = last["content"].back();
    if (text_of(last, "role") != "assistant" || !is_type(block, "text")) return;
    const std::string_view text = text_of(block, "text");
    block["text"] = std::string(text.substr(0, text.find_last_not_of(" \t\r\n") + 1));
  }

  static void fit_ids(Json& messages) {
    FittedCallIds ids(*preset_named("anthropic"));
    for (Json& message : messages) {
      if (text_of(message, "role") == "assistant") ids.begin_answer();
      for (Json& block : message["content"]) {
        if (is_type(block, "tool_use")) block["id"] = ids.call(std::string(text_of(block, "id")));
        if (is_type(block, "tool_result"))
          block["tool_use_id"] = ids.result(std::string(text_of(block, "tool_use_id")));
      }
    }
  }

  bool ends_thoughtless() const {
    const Json& messages = turns_.messages;
    const std::size_t count = messages.size();
    if (count < 2 || !is_type(messages[count - 1]["content"].front(), "tool_result")) return false;
    const Json& first = messages[count - 2]["content"].front();
    return !is_thought(first);
  }

  const ClaudeModel& model_;
  Parameters& report_;
  bool is_paused_ = false;  // the latest answer
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

base::Result<AnthropicMessages> anthropic_messages(const Json& messages, const ClaudeModel& model,
                                                   Parameters& report) {
  AnthropicConversation turns(model, report);
  if (messages.is_array()) {
    for (const Json& message : messages) {
      if (base::Status taken = turns.take(message); !taken) return taken.error();
    }
  }
  return turns.finish();
}

}  // namespace millrace::providers
