#include "ai/providers/openai/messages.h"

#include <algorithm>
#include <cctype>
#include <set>
#include <utility>

#include "ai/providers/history.h"
#include "ai/providers/openai/reasoning_state.h"
#include "ai/providers/tool_pictures.h"
#include "ai/providers/wire_text.h"
#include "schemas/json/json_body.h"

namespace millrace::providers {
namespace {

constexpr std::size_t kMistralIdLength = 9;

// Mistral only accepts call ids of nine letters and digits. An id of another provider is always mapped to the
// same new id.
std::string mistral_id(const std::string& id) {
  const auto is_word = [](char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0; };
  if (id.size() == kMistralIdLength && std::ranges::all_of(id, is_word)) return id;
  std::uint64_t hash = 14695981039346656037ull;
  for (const char c : id) hash = (hash ^ static_cast<unsigned char>(c)) * 1099511628211ull;
  constexpr std::string_view kLetters = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
  std::string out;
  for (; out.size() < kMistralIdLength; hash /= kLetters.size())
    out.push_back(kLetters[hash % kLetters.size()]);
  return out;
}

void shorten_id(Json& object, const char* member) {
  const auto found = object.find(member);
  if (found != object.end() && found->is_string()) *found = mistral_id(found->get_ref<const std::string&>());
}

bool is_thinking(const Json& part) { return text_of(part, "type") == "thinking"; }

bool has_thinking(const Json& message) {
  const Json* content = member(message, "content");
  return content != nullptr && content->is_array() && std::ranges::any_of(*content, is_thinking);
}

// Calls `visit` with each object in a message that the history table covers, and its place.
template <class Message, class Visit>
void each_place(Message& message, Visit&& visit) {
  visit(history_place(message), message);
  const auto visit_all = [&](const char* name, HistoryPlace place) {
    const auto list = message.find(name);
    if (list == message.end() || !list->is_array()) return;
    for (auto& each : *list) {
      if (each.is_object()) visit(place, each);
    }
  };
  visit_all("content", HistoryPlace::kPart);
  visit_all("tool_calls", HistoryPlace::kCall);
}

bool is_kept(Dialect dialect, HistoryPlace place, const Json& object) {
  for (auto each = object.begin(); each != object.end(); ++each) {
    if (history(dialect, place, each.key()) != History::kKept) return false;
  }
  return true;
}

class MessageWriter {
 public:
  explicit MessageWriter(const Target& target) : target_(target), dialect_(target.preset->dialect) {}

  bool changes(const Json& message) const {
    if (!message.is_object()) return false;
    if (dialect_ == Dialect::kMistral || message.contains(schemas::kReasoningStateMember)) return true;
    if (has_thinking(message)) return true;
    bool changed = false;
    each_place(message, [&](HistoryPlace place, const Json& object) {
      changed = changed || !is_kept(dialect_, place, object) || has_open_function(place, object);
    });
    return changed;
  }

  void rewrite(Json& message) {
    moved_.clear();
    const std::optional<Json> state = OpenaiReasoningState::read(target_.preset->name, message);
    if (state) OpenaiReasoningState::erase_from(*state, message);
    if (dialect_ == Dialect::kMistral) rename(message);
    if (dialect_ != Dialect::kMistral && erase_thinking(message)) report(std::string(kThinkingParts));
    move_refusal(message);
    move_audio(message);
    move_reasoning(message);
    each_place(message, [&](HistoryPlace place, Json& object) {
      leave_out(place, object);
      if (place != HistoryPlace::kCall) return;
      for (const char* kind : {"function", "custom"}) {
        const auto function = object.find(kind);
        if (function != object.end() && function->is_object()) leave_out(HistoryPlace::kFunction, *function);
      }
    });
    if (state) OpenaiReasoningState::restore(*state, message);
  }

  // Of a tool or its function.
  void leave_out_of_tool(Json& tool) { leave_out(HistoryPlace::kTool, tool); }

  void add_report(schemas::DroppedParams& dropped) const {
    for (const std::string& name : reported_) dropped.push_back({name, schemas::DroppedParam::How::kDropped});
  }

 private:
  bool has_open_function(HistoryPlace place, const Json& call) const {
    if (place != HistoryPlace::kCall) return false;
    for (const char* kind : {"function", "custom"}) {
      const Json* function = member(call, kind);
      if (function != nullptr && function->is_object() &&
          !is_kept(dialect_, HistoryPlace::kFunction, *function))
        return true;
    }
    return false;
  }

  void report(std::string name) { reported_.insert(std::move(name)); }

  History how(std::string_view name) const { return history(dialect_, HistoryPlace::kAssistant, name); }

  void rename(Json& message) const {
    if (message.value("role", Json()) == "developer") message["role"] = "system";
    shorten_id(message, "tool_call_id");
    const auto calls = message.find("tool_calls");
    if (calls == message.end() || !calls->is_array()) return;
    for (Json& call : *calls) {
      if (call.is_object()) shorten_id(call, "id");
    }
  }

  // False: there was no thinking part.
  static bool erase_thinking(Json& message) {
    if (!has_thinking(message)) return false;
    Json& content = message["content"];
    std::erase_if(content.get_ref<Json::array_t&>(), is_thinking);
    const Json* calls = member(message, "tool_calls");
    if (content.empty() && calls != nullptr && !calls->empty()) {
      message.erase("content");
    } else if (content.empty()) {
      content = "";
    }
    return true;
  }

  // A refusal becomes the content of a message without one.
  void move_refusal(Json& message) const {
    const auto refusal = message.find("refusal");
    if (refusal == message.end() || how("refusal") != History::kMoved) return;
    const Json* content = member(message, "content");
    if (!refusal->is_string() || (content != nullptr && !is_nothing(*content))) return;
    Json text = std::move(*refusal);
    message.erase("refusal");
    message["content"] = std::move(text);
  }

  // A reply has the whole recording; in the history it has only its id.
  void move_audio(Json& message) {
    const auto audio = message.find("audio");
    if (audio == message.end() || how("audio") != History::kMoved) return;
    const Json* id = member(*audio, "id");
    if (id == nullptr) return;
    *audio = Json{{"id", *id}};
    moved_.insert("audio");
  }

  // To Mistral's thinking part and to Groq's `reasoning`, which only its models that reason accept.
  void move_reasoning(Json& message) {
    if (how("reasoning") != History::kMoved) return;
    std::string_view text = text_of(message, "reasoning");
    if (text.empty()) text = text_of(message, "reasoning_content");
    if (text.empty()) return;
    const bool is_taken =
        dialect_ != Dialect::kGroq || support(target_, "reasoning_effort") != Support::kDropped;
    if (!is_taken) return;
    std::string reasoning(text);
    message.erase("reasoning");
    message.erase("reasoning_content");
    if (dialect_ == Dialect::kGroq) {
      message["reasoning"] = std::move(reasoning);
      moved_.insert("reasoning");
    } else {
      add_thinking_part(message, reasoning);
    }
  }

  // Members of kMoved that are still there have a form that was not moved.
  void leave_out(HistoryPlace place, Json& object) {
    for (auto at = object.begin(); at != object.end();) {
      const History cell = history(dialect_, place, at.key());
      const bool is_moved = cell == History::kMoved && moved_.contains(at.key());
      if (cell == History::kKept || is_moved) {
        ++at;
        continue;
      }
      if (!is_nothing(*at)) report(history_name(place, at.key()));
      at = object.erase(at);
    }
  }

  const Target& target_;
  const Dialect dialect_;
  std::set<std::string, std::less<>> moved_;  // members of this message that have their form now
  std::set<std::string> reported_;
};

bool is_marked(const Json& tool) {
  const Json* function = member(tool, "function");
  return member(tool, "cache_control") != nullptr || member(function, "cache_control") != nullptr;
}

std::string written_messages(const Target& target, const Json& messages, schemas::DroppedParams& dropped) {
  MessageWriter writer(target);
  if (std::ranges::none_of(messages, [&](const Json& each) { return writer.changes(each); }))
    return schemas::dump(messages);
  Json copy = messages;
  for (Json& message : copy) {
    if (writer.changes(message)) writer.rewrite(message);
  }
  writer.add_report(dropped);
  return schemas::dump(copy);
}

}  // namespace

std::string openai_messages(const Target& target, const Json& messages, schemas::DroppedParams& dropped) {
  if (!has_pictures(messages) && !has_tool_images(messages))
    return written_messages(target, messages, dropped);
  Json shown = messages;
  show_pictures(target, shown);
  if (target.preset->dialect != Dialect::kMistral) move_tool_images(shown);
  return written_messages(target, shown, dropped);
}

std::string openai_tools(const Target& target, const Json& tools, schemas::DroppedParams& dropped) {
  const bool is_kept =
      history(target.preset->dialect, HistoryPlace::kTool, "cache_control") == History::kKept;
  if (is_kept || !std::ranges::any_of(tools, is_marked)) return schemas::dump(tools);
  MessageWriter writer(target);
  Json copy = tools;
  for (Json& tool : copy) {
    if (!is_marked(tool)) continue;
    writer.leave_out_of_tool(tool);
    if (const auto function = tool.find("function"); function != tool.end() && function->is_object())
      writer.leave_out_of_tool(*function);
  }
  writer.add_report(dropped);
  return schemas::dump(copy);
}

}  // namespace millrace::providers
