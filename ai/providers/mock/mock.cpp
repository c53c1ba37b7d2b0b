#include "ai/providers/mock/mock.h"

#include <algorithm>
#include <utility>

#include "ai/providers/json_access.h"
#include "platform/base/ids.h"
#include "schemas/json/json_body.h"

namespace millrace::providers {
namespace {

using schemas::ChatPiece;

ChatPiece piece_of(int index) {
  ChatPiece piece;
  piece.index = index;
  return piece;
}

// "one two " → "one ", "two ".
void add_words(const schemas::ChatChoice& choice, std::vector<ChatPiece>& out) {
  const std::string& text = *choice.content;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t space = text.find(' ', at);
    const std::size_t end = space == std::string::npos ? text.size() : space + 1;
    ChatPiece piece = piece_of(choice.index);
    piece.content = text.substr(at, end - at);
    out.push_back(std::move(piece));
    at = end;
  }
}

void add_calls(const schemas::ChatChoice& choice, std::vector<ChatPiece>& out) {
  int index = 0;
  for (const schemas::ToolCall& call : choice.tool_calls) {
    const std::size_t half = call.arguments.size() / 2;
    ChatPiece begin = piece_of(choice.index), rest = piece_of(choice.index);
    begin.tool_calls.push_back({index, call.id, call.type, call.name, ""});
    begin.tool_calls[0].arguments = call.type == "custom" ? "" : call.arguments.substr(0, half);
    rest.tool_calls.push_back({index++, "", "", "", call.arguments.substr(call.type == "custom" ? 0 : half)});
    out.push_back(std::move(begin));
    out.push_back(std::move(rest));
  }
}

std::vector<ChatPiece> streamed_pieces(const schemas::ChatReply& reply) {
  std::vector<ChatPiece> pieces;
  for (const schemas::ChatChoice& choice : reply.choices) {
    if (choice.content) add_words(choice, pieces);
    add_calls(choice, pieces);
    ChatPiece end = piece_of(choice.index);
    end.finish_reason = choice.finish_reason;
    pieces.push_back(std::move(end));
  }
  return pieces;
}

// Delivers one piece per iteration of the loop, as a network would, so that `cancel` and backpressure work.
class MockCall final : public Call, public std::enable_shared_from_this<MockCall> {
 public:
  MockCall(net::Loop& loop, schemas::ChatReply reply, bool stream, CallHandlers handlers)
      : loop_(loop), reply_(std::move(reply)), handlers_(std::move(handlers)) {
    if (stream) pieces_ = streamed_pieces(reply_);
    if (stream) reply_.choices.clear();
  }
  void step_later() {
    loop_.post([self = shared_from_this()] { self->step(); });
  }
  void cancel() override { over_ = true; }
  void resume() override {
    if (std::exchange(paused_, false)) step_later();
  }

 private:
  void step() {
    if (over_) return;
    if (next_ == pieces_.size()) {
      over_ = true;
      return handlers_.on_done(std::move(reply_));
    }
    paused_ = handlers_.is_ready && !handlers_.is_ready();
    if (paused_) return;
    std::vector<ChatPiece> one;
    one.push_back(std::move(pieces_[next_++]));
    handlers_.on_pieces(std::move(one));
    step_later();
  }

  net::Loop& loop_;
  schemas::ChatReply reply_;
  CallHandlers handlers_;
  std::vector<ChatPiece> pieces_;
  std::size_t next_ = 0;
  bool over_ = false, paused_ = false;
};

}  // namespace

std::shared_ptr<Call> start_mock_chat(net::Loop& loop, const Target& target,
                                      const schemas::ChatRequest& request, bool stream,
                                      CallHandlers handlers) {
  auto call = std::make_shared<MockCall>(loop, mock_reply(target, request), stream, std::move(handlers));
  call->step_later();
  return call;
}

namespace {

const Json& member_of(const Json& object, const char* name) {
  static const Json kNone;
  if (!object.is_object()) return kNone;
  const auto found = object.find(name);
  return found == object.end() ? kNone : *found;
}

std::string all_text(const Json& content) {
  if (content.is_string()) return content.get<std::string>();
  std::string text;
  if (!content.is_array()) return text;
  for (const Json& part : content) {
    const Json& text_part = member_of(part, "text");
    if (!text_part.is_string()) continue;
    if (!text.empty()) text += ' ';
    text += text_part.get<std::string>();
  }
  return text;
}

std::int64_t words(std::string_view text) {
  std::int64_t count = 0;
  bool inside = false;
  for (const char c : text) {
    const bool space = c == ' ' || c == '\n' || c == '\t' || c == '\r';
    if (!space && !inside) ++count;
    inside = !space;
  }
  return count;
}

std::string last_text(const Json& messages, std::string_view role) {
  for (auto message = messages.rbegin(); message != messages.rend(); ++message) {
    if (member_of(*message, "role") == role) return all_text(member_of(*message, "content"));
  }
  return {};
}

std::string tool_name(const Json& tool) {
  const Json& inner = member_of(tool, member_of(tool, "type") == "custom" ? "custom" : "function");
  const Json& name = member_of(inner, "name");
  return name.is_string() ? name.get<std::string>() : std::string();
}

// The tool that the request requires to be called now; null: none.
const Json* requested_tool(const Json& body, const std::string& user_text) {
  const Json& tools = member_of(body, "tools");
  const Json& choice = member_of(body, "tool_choice");
  if (!tools.is_array() || tools.empty() || choice == "none") return nullptr;
  const auto named = [&](const std::string& name) -> const Json* {
    const auto found =
        std::find_if(tools.begin(), tools.end(), [&](const Json& t) { return tool_name(t) == name; });
    return found == tools.end() ? nullptr : &*found;
  };
  if (choice.is_object()) return named(tool_name(choice));
  if (member_of(body["messages"].back(), "role") == "tool") return nullptr;
  for (const Json& tool : tools) {
    const std::string name = tool_name(tool);
    if (!name.empty() && user_text.find(name) != std::string::npos) return &tool;
  }
  return choice == "required" ? &tools[0] : nullptr;
}

schemas::ToolCall call_of(const Json& tool, const std::string& user_text) {
  schemas::ToolCall call;
  call.id = "call_" + base::Uuid::make(base::SystemClock().wall()).str();
  call.name = tool_name(tool);
  if (member_of(tool, "type") == "custom") {
    call.type = "custom";
    call.arguments = user_text;
    return call;
  }
  const Json& schema = member_of(member_of(tool, "function"), "parameters");
  call.arguments = schema.is_object() ? schemas::dump(mock_value(schema, user_text)) : "{}";
  return call;
}

std::string json_answer(const Json& format, const std::string& user_text) {
  if (member_of(format, "type") == "json_schema")
    return schemas::dump(mock_value(member_of(member_of(format, "json_schema"), "schema"), user_text));
  return Json{{"answer", user_text}}.dump();
}

std::string answer_text(const Json& body, const std::string& user_text) {
  const Json& format = member_of(body, "response_format");
  const Json& type = member_of(format, "type");
  if (type == "json_object" || type == "json_schema") return json_answer(format, user_text);
  if (member_of(body["messages"].back(), "role") == "tool")
    return "The tool said: " + last_text(body["messages"], "tool");
  return user_text.empty() ? "Hello from mock/chat." : user_text;
}

// Cuts `text` after its first `words_max` words; true if something was cut.
bool cut_to_words(std::string& text, std::int64_t words_max) {
  std::int64_t count = 0;
  bool inside = false;
  for (std::size_t at = 0; at < text.size(); ++at) {
    const bool space = text[at] == ' ' || text[at] == '\n' || text[at] == '\t' || text[at] == '\r';
    if (!space && !inside && ++count > words_max) {
      text.resize(at);
      return true;
    }
    inside = !space;
  }
  return false;
}

void cut_at_stops(std::string& text, const Json& stops) {
  if (!stops.is_array()) return;
  for (const Json& stop : stops) {
    if (stop.is_string()) text.resize(std::min(text.size(), text.find(stop.get<std::string>())));
  }
}

schemas::ChatChoice choice_of(const Json& body, const std::string& user_text) {
  schemas::ChatChoice choice;
  if (const Json* tool = requested_tool(body, user_text)) {
    choice.tool_calls.push_back(call_of(*tool, user_text));
    choice.finish_reason = "tool_calls";
    return choice;
  }
  std::string text = answer_text(body, user_text);
  cut_at_stops(text, member_of(body, "stop"));
  const Json& most = member_of(body, "max_completion_tokens");
  const bool cut = most.is_number_integer() && cut_to_words(text, most.get<std::int64_t>());
  choice.content = std::move(text);
  choice.finish_reason = cut ? "length" : "stop";
  return choice;
}

std::int64_t prompt_tokens(const Json& messages) {
  std::int64_t count = 0;
  for (const Json& message : messages) count += words(all_text(member_of(message, "content")));
  return std::max<std::int64_t>(count, 1);
}

}  // namespace

schemas::ChatReply mock_reply(const Target& target, const schemas::ChatRequest& request) {
  const base::WallTime now = base::SystemClock().wall();
  schemas::ChatReply reply;
  reply.id = "chatcmpl-" + base::Uuid::make(now).str();
  reply.created = base::millis(now) / 1000;
  reply.model = target.name;
  reply.system_fingerprint = "mock";
  const std::string user_text = last_text(request.body["messages"], "user");
  schemas::ChatUsage usage;
  usage.prompt = prompt_tokens(request.body["messages"]);
  for (int i = 0; i < std::max(request.n, 1); ++i) {
    reply.choices.push_back(choice_of(request.body, user_text));
    schemas::ChatChoice& choice = reply.choices.back();
    choice.index = i;
    usage.completion += words(choice.content.value_or(""));
    for (const schemas::ToolCall& call : choice.tool_calls) usage.completion += 1 + words(call.arguments);
  }
  usage.total = usage.prompt + usage.completion;
  reply.usage = usage;
  return reply;
}

namespace {

constexpr int kDepthMax = 16;
constexpr int kDeep = 8;  // from this depth on, the smallest possible values are generated
constexpr int kNodesMax = 10'000;

class Maker {
 public:
  Maker(const Json& root, const std::string& text) : root_(root), text_(text) {}

  Json make(const Json& schema, int depth) {
    if (++nodes_ > kNodesMax || depth > kDepthMax || !schema.is_object()) return nullptr;
    if (const std::string_view reference = text_of(schema, "$ref"); !reference.empty()) {
      const Json* meant = referenced(root_, reference);
      return meant != nullptr ? make(*meant, depth + 1) : Json();
    }
    for (const char* word : {"const", "default"}) {
      if (schema.contains(word)) return schema[word];
    }
    if (const Json* values = list_of(schema, "enum")) return values->front();
    for (const char* word : {"anyOf", "oneOf", "allOf"}) {
      if (const Json* choices = list_of(schema, word)) return make(choice_of(*choices, depth), depth + 1);
    }
    return made_by_type(schema, depth);
  }

 private:
  static const Json* list_of(const Json& schema, const char* word) {
    const Json* list = member(schema, word);
    return list != nullptr && list->is_array() && !list->empty() ? list : nullptr;
  }

  static const Json& choice_of(const Json& choices, int depth) {
    const auto null =
        std::ranges::find_if(choices, [](const Json& one) { return text_of(one, "type") == "null"; });
    return depth >= kDeep && null != choices.end() ? *null : choices.front();
  }

  static std::string_view type_of(const Json& schema) {
    const Json* types = list_of(schema, "type");
    const std::string_view type = types != nullptr ? text_of(&types->front()) : text_of(schema, "type");
    return type.empty() ? "object" : type;
  }

  Json made_by_type(const Json& schema, int depth) {
    const std::string_view type = type_of(schema);
    if (type == "string") return text_;
    if (type == "integer" || type == "number") return schema.value("minimum", Json(1));
    if (type == "boolean") return true;
    if (type == "null") return nullptr;
    return type == "array" ? list(schema, depth) : object(schema, depth);
  }

  Json list(const Json& schema, int depth) {
    Json items = Json::array();
    const Json* item = member(schema, "items");
    if (item != nullptr && depth < kDeep) items.push_back(make(*item, depth + 1));
    return items;
  }

  Json object(const Json& schema, int depth) {
    Json object = Json::object();
    const Json* properties = member(schema, "properties");
    if (properties == nullptr || !properties->is_object()) return object;
    for (const auto& [name, property] : properties->items()) {
      if (nodes_ > kNodesMax) break;
      object[name] = make(property, depth + 1);
    }
    return object;
  }

  const Json& root_;
  const std::string& text_;
  int nodes_ = 0;
};

}  // namespace

Json mock_value(const Json& schema, const std::string& text) { return Maker(schema, text).make(schema, 0); }

}  // namespace millrace::providers
