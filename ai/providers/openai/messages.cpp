#include "ai/providers/openai/messages.h"

#include <algorithm>
#include <array>
#include <iterator>
#include <set>
#include <span>
#include <utility>

#include "ai/providers/call_ids.h"
#include "ai/providers/content_part.h"
#include "ai/providers/history.h"
#include "ai/providers/media_check.h"
#include "ai/providers/openai/reasoning_state.h"
#include "ai/providers/tool_pictures.h"
#include "ai/providers/wire_text.h"
#include "schemas/json/json_body.h"
#include "schemas/json/url_text.h"
#include "schemas/media/media_type.h"

namespace millrace::providers {
namespace {

bool is_thinking(const Json& part) { return text_of(part, "type") == "thinking"; }

bool has_thinking(const Json& message) {
  const Json* content = member(message, "content");
  return content != nullptr && content->is_array() && std::ranges::any_of(*content, is_thinking);
}

// The object that is the member `name` of another, or null.
template <class Object>
Object* inner_object(Object& object, std::string_view name) {
  const auto found = object.find(name);
  return found != object.end() && found->is_object() ? &*found : nullptr;
}

constexpr std::array<std::string_view, 2> kCallKinds{"function", "custom"};

// Calls `visit` with each object in a message that the history table covers, and its place.
template <class Message, class Visit>
void each_place(Message& message, Visit&& visit) {
  visit(history_place(message), message);
  const auto visit_all = [&](const char* name, HistoryPlace place, std::span<const std::string_view> members,
                             HistoryPlace member_place) {
    const auto list = message.find(name);
    if (list == message.end() || !list->is_array()) return;
    for (auto& each : *list) {
      if (!each.is_object()) continue;
      visit(place, each);
      for (const std::string_view inside : members) {
        if (auto* object = inner_object(each, inside)) visit(member_place, *object);
      }
    }
  };
  visit_all("content", HistoryPlace::kPart, kSourceMembers, HistoryPlace::kSource);
  visit_all("tool_calls", HistoryPlace::kCall, kCallKinds, HistoryPlace::kFunction);
}

// The same for a tool.
template <class Tool, class Visit>
void each_place_of_tool(Tool& tool, Visit&& visit) {
  if (!tool.is_object()) return;
  visit(tool);
  for (const std::string_view kind : kCallKinds) {
    if (auto* object = inner_object(tool, kind)) visit(*object);
  }
}

bool is_kept(Dialect dialect, HistoryPlace place, const Json& object) {
  for (auto each = object.begin(); each != object.end(); ++each) {
    if (history(dialect, place, each.key()) != History::kKept) return false;
  }
  return true;
}

// The chat templates of many models that local servers run drop or refuse this role.
bool is_developer(const Json& message) { return text_of(message, "role") == "developer"; }

bool is_data_uri(std::string_view data) { return starts_without_case(data, "data:"); }

// The data of a file as a data URI.
std::string document_uri(const Json& file) {
  const std::string_view data = text_of(file, "file_data");
  if (is_data_uri(data)) return std::string(data);
  std::string_view type = schemas::detect_base64_media_type(data);
  if (type.empty()) type = media_type_named(text_of(file, "filename"));
  return "data:" + std::string(type.empty() ? "application/pdf" : type) + ";base64," + std::string(data);
}

// OpenAI takes the data of a file as a data URI, together with a name.
bool lacks_name_or_type(const Json& file) {
  const std::string_view data = text_of(file, "file_data");
  const bool has_bytes = !data.empty() && !schemas::plausible_url(data);
  return has_bytes && (!is_data_uri(data) || text_of(file, "filename").empty());
}

void complete_file(Json& file) {
  if (!lacks_name_or_type(file)) return;
  const std::string uri = document_uri(file);
  file["file_data"] = uri;
  if (!text_of(file, "filename").empty()) return;
  const bool is_base64 = schemas::data_uri_base64(uri).has_value();
  const std::string type = is_base64 ? schemas::data_uri_media_type(uri) : std::string();
  file["filename"] = std::string("document").append(extension_of(type));
}

// The object `file` of each part of this type.
template <class Message, class Visit>
void each_file(Message& message, Visit&& visit) {
  const auto content = message.find("content");
  if (content == message.end() || !content->is_array()) return;
  for (auto& part : *content) {
    if (!part.is_object() || text_of(part, "type") != "file") continue;
    if (auto* file = inner_object(part, "file")) visit(*file);
  }
}

// A message of the assistant without anything, such as one that only had reasoning.
bool is_empty_answer(const Json& message) {
  if (text_of(message, "role") != "assistant") return false;
  return std::ranges::all_of(message.items(), [](const auto& each) {
    return each.key() == "role" || each.key() == "name" || is_nothing(each.value());
  });
}

// Leaves out empty answers, which OpenAI and Mistral refuse, unless there is nothing else.
void erase_empty_answers(Json& messages) {
  if (std::ranges::all_of(messages, is_empty_answer)) return;
  std::erase_if(messages.get_ref<Json::array_t&>(), is_empty_answer);
}

bool is_system(const Json& message) { return text_of(message, "role") == "system"; }

// Mistral takes system messages only at the beginning and after a user's message, and not at the end. Moves
// the others behind the leading ones; if there are no other messages, the last one becomes the user's. True:
// something has changed.
bool move_system_messages(Json& messages) {
  if (!messages.empty() && std::ranges::all_of(messages, is_system)) {
    messages.back()["role"] = "user";
    return true;
  }
  Json::array_t leading, moved, others;
  for (Json& message : messages) {
    const std::string_view before = others.empty() ? std::string_view() : text_of(others.back(), "role");
    const bool may_stay = !is_system(message) || (before != "assistant" && before != "tool");
    const bool is_leading = is_system(message) && others.empty();
    (is_leading ? leading : may_stay ? others : moved).push_back(std::move(message));
  }
  const auto last = std::find_if_not(others.rbegin(), others.rend(), is_system).base();
  std::move(last, others.end(), std::back_inserter(moved));
  others.erase(last, others.end());
  const bool has_moved = !moved.empty();
  for (Json::array_t* each : {&moved, &others}) std::ranges::move(*each, std::back_inserter(leading));
  messages = std::move(leading);
  return has_moved;
}

// Mistral refuses a user's message directly after a tool's result, and a conversation that ends with the
// assistant, unless its text is marked as the beginning of the answer.
void fit_mistral_order(Json& messages) {
  Json fitted = Json::array();
  for (Json& message : messages) {
    const bool follows_result = !fitted.empty() && text_of(fitted.back(), "role") == "tool";
    if (follows_result && text_of(message, "role") == "user")
      fitted.push_back({{"role", "assistant"}, {"content", kAfterResults}});
    fitted.push_back(std::move(message));
  }
  messages = std::move(fitted);
  if (messages.empty()) return;
  Json& last = messages.back();
  const bool has_calls = member(last, "tool_calls") != nullptr;
  if (text_of(last, "role") == "assistant" && !has_calls && member(last, "prefix") == nullptr)
    last["prefix"] = true;
}

class MessageWriter {
 public:
  explicit MessageWriter(const Target& target)
      : target_(target),
        dialect_(media_dialect(target)),
        renames_developer_(dialect_ == Dialect::kMistral || dialect_ == Dialect::kLocal) {}

  bool changes(const Json& message) const {
    if (!message.is_object()) return false;
    if (dialect_ == Dialect::kMistral || message.contains(schemas::kReasoningStateMember)) return true;
    if (dialect_ != Dialect::kLocal && is_empty_answer(message)) return true;
    if (has_thinking(message) || (renames_developer_ && is_developer(message))) return true;
    bool changed = false;
    if (dialect_ == Dialect::kOpenai)
      each_file(message, [&](const Json& file) { changed = changed || lacks_name_or_type(file); });
    each_place(message, [&](HistoryPlace place, const Json& object) {
      changed = changed || !is_kept(dialect_, place, object);
    });
    return changed;
  }

  void rewrite(Json& message) {
    moved_.clear();
    std::optional<Json> state = OpenaiReasoningState::read(target_, message);
    if (state) OpenaiReasoningState::settle(*state, message);
    if (dialect_ != Dialect::kMistral && erase_thinking(message)) report(std::string(kThinkingParts));
    move_refusal(message);
    move_refusal_parts(message);
    move_audio(message);
    move_reasoning(message);
    each_place(message, [&](HistoryPlace place, Json& object) { leave_out(place, object); });
    if (state) OpenaiReasoningState::restore(*state, message);
    if (renames_developer_ && is_developer(message)) message["role"] = "system";
    if (dialect_ == Dialect::kMistral) move_files(message);
    if (dialect_ == Dialect::kOpenai) each_file(message, complete_file);
  }

  bool changes_tool(const Json& tool) const {
    bool changed = false;
    each_place_of_tool(tool, [&](const Json& object) {
      changed = changed || !is_kept(dialect_, HistoryPlace::kTool, object);
    });
    return changed;
  }

  void rewrite_tool(Json& tool) {
    each_place_of_tool(tool, [&](Json& object) { leave_out(HistoryPlace::kTool, object); });
  }

  void add_report(schemas::DroppedParams& dropped) const {
    for (const std::string& name : reported_) dropped.push_back({name, schemas::DroppedParam::How::kDropped});
  }

 private:
  void report(std::string name) { reported_.insert(std::move(name)); }

  History how(std::string_view name) const { return history(dialect_, HistoryPlace::kAssistant, name); }

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

  // To Mistral's parts: a file of its own by id, others by their URL or data URI.
  static void move_files(Json& message) {
    const auto content = message.find("content");
    if (content == message.end() || !content->is_array()) return;
    for (Json& part : *content) {
      const Json* file = member(part, "file");
      if (text_of(part, "type") != "file" || file == nullptr) continue;
      if (const std::string id(text_of(*file, "file_id")); !id.empty()) {
        part = {{"type", "file"}, {"file_id", id}};
        continue;
      }
      const std::string_view url = file_address(*file);
      Json moved = {{"type", "document_url"},
                    {"document_url", url.empty() ? document_uri(*file) : std::string(url)}};
      if (const Json* name = member(*file, "filename")) moved["document_name"] = *name;
      part = std::move(moved);
    }
  }

  // To text parts.
  void move_refusal_parts(Json& message) const {
    if (history(dialect_, HistoryPlace::kPart, "refusal") != History::kMoved) return;
    const auto content = message.find("content");
    if (content == message.end() || !content->is_array()) return;
    for (Json& part : *content) {
      if (text_of(part, "type") != "refusal") continue;
      part["text"] = std::string(text_of(part, "refusal"));
      part["type"] = "text";
      part.erase("refusal");
    }
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
  const bool renames_developer_;              // to system
  std::set<std::string, std::less<>> moved_;  // members of this message that have their form now
  std::set<std::string> reported_;
};

std::string written_messages(const Target& target, const Json& messages, schemas::DroppedParams& dropped) {
  MessageWriter writer(target);
  const bool changes_ids = needs_call_ids(*target.preset, messages);
  if (!changes_ids && std::ranges::none_of(messages, [&](const Json& each) { return writer.changes(each); }))
    return schemas::dump(messages);
  Json copy = messages;
  for (Json& message : copy) {
    if (writer.changes(message)) writer.rewrite(message);
  }
  if (changes_ids) fit_call_ids(*target.preset, copy);  // last: the states have the ids of the calls
  writer.add_report(dropped);
  if (media_dialect(target) != Dialect::kLocal) erase_empty_answers(copy);
  if (target.preset->dialect == Dialect::kMistral) {
    if (move_system_messages(copy))
      dropped.push_back({std::string(kMovedSystem), schemas::DroppedParam::How::kClamped});
    fit_mistral_order(copy);
  }
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
  MessageWriter writer(target);
  if (std::ranges::none_of(tools, [&](const Json& tool) { return writer.changes_tool(tool); }))
    return schemas::dump(tools);
  Json copy = tools;
  for (Json& tool : copy) writer.rewrite_tool(tool);
  writer.add_report(dropped);
  return schemas::dump(copy);
}

}  // namespace millrace::providers
