#include "ai/providers/gemini/messages.h"

#include <algorithm>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "ai/providers/call_ids.h"
#include "ai/providers/content_part.h"
#include "ai/providers/gemini/candidate.h"
#include "ai/providers/history.h"
#include "ai/providers/tool_request.h"
#include "ai/providers/wire_text.h"
#include "schemas/chat/chat_request.h"

namespace millrace::providers {
namespace {

// The media type of a file whose name does not show it.
std::string_view default_type(ContentPart::Kind kind) {
  switch (kind) {
    case ContentPart::Kind::kImage:
      return "image/jpeg";
    case ContentPart::Kind::kAudio:
      return "audio/wav";
    case ContentPart::Kind::kText:
    case ContentPart::Kind::kFile:
      break;
  }
  return "application/pdf";
}

Json media_part(const ContentPart& part) {
  const std::string_view address = !part.file_id.empty() ? part.file_id : part.url;
  std::string_view type = part.media_type;
  if (type.empty()) type = media_type_named(address);
  if (type.empty()) type = default_type(part.kind);
  if (!part.base64.empty()) return {{"inlineData", {{"mimeType", type}, {"data", part.base64}}}};
  return {{"fileData", {{"mimeType", type}, {"fileUri", address}}}};
}

}  // namespace

base::Result<Json> gemini_parts(const Json* content, Parameters& report) {
  const auto given = read_content(content, report);
  if (!given) return given.error();
  Json parts = Json::array();
  for (const ContentPart& part : *given) {
    if (!part.detail.empty() && part.detail != "auto") report.dropped("messages.detail");
    if (part.kind != ContentPart::Kind::kText) {
      parts.push_back(media_part(part));
    } else if (!part.text.empty()) {
      parts.push_back({{"text", part.text}});
    }
  }
  return parts;
}

namespace {

// Gemini 3 accepts this in place of a missing signature: the call or image was made by another provider, or
// the signature was lost.
constexpr std::string_view kUnsigned = "skip_thought_signature_validator";

base::Error bad_messages(std::string message) {
  return base::error(base::Code::kInvalidField, "messages: " + std::move(message), "messages");
}

bool has_reference(const Json& value) {
  if (!value.is_structured()) return false;
  return (value.is_object() && value.contains("$ref")) || std::ranges::any_of(value, has_reference);
}

// Gemini requires an object as tool result, and follows "$ref" in it. Any other result becomes the member
// "result" of one, and so does an object that has a reference.
Json response_object(Json&& parts) {
  std::string text;
  for (const Json& part : parts) text += text_of(part, "text");
  std::optional<Json> value = parse_wire(text);
  if (value && value->is_object() && !has_reference(*value)) return *std::move(value);
  return {{"result", text}};
}

class GeminiConversation {
 public:
  GeminiConversation(const GeminiModel& model, Parameters& report) : model_(model), report_(report) {}

  base::Status take(const Json& message) {
    const std::string_view role = text_of(message, "role");
    report_left_out(Dialect::kGemini, message, [this](const std::string& name) { report_.dropped(name); });
    base::Result<Json> parts = gemini_parts(member(message, "content"), report_);
    if (!parts) return parts.error();
    if (role == "tool") return take_result(message, *std::move(parts));
    if (role == "system" || role == "developer") return take_system(*std::move(parts));
    if (role == "assistant") {
      take_answer(message, *std::move(parts));
    } else {
      append("user", *std::move(parts));
    }
    return {};
  }

  base::Result<GeminiContents> finish() {
    Json& contents = turns_.contents;
    if (contents.empty() && !turns_.system_parts.empty()) {
      append("user", std::exchange(turns_.system_parts, Json::array()));
      report_.clamped(kMovedSystem);
    }
    if (contents.empty()) return bad_messages("no message has content");
    end_turn();
    if (text_of(contents.front(), "role") != "user") {
      Json opening = {{"role", "user"}, {"parts", Json::array({Json{{"text", kOpening}}})}};
      contents.insert(contents.begin(), std::move(opening));
    }
    fit_ids(contents);
    return std::move(turns_);
  }

 private:
  static void fit_ids(Json& contents) {
    FittedCallIds ids(*preset_named("gemini"));
    for (Json& turn : contents) {
      if (text_of(turn, "role") == "model") ids.begin_answer();
      for (Json& part : turn["parts"]) {
        const bool is_call = part.contains("functionCall");
        if (!is_call && !part.contains("functionResponse")) continue;
        Json& named = part[is_call ? "functionCall" : "functionResponse"];
        const std::string id(text_of(named, "id"));
        if (!id.empty()) named["id"] = is_call ? ids.call(id) : ids.result(id);
      }
    }
  }

  base::Status take_system(Json parts) {
    if (!turns_.contents.empty()) report_.clamped(kMovedSystem);
    for (Json& part : parts) {
      if (!part.contains("text")) return bad_messages("a system message may only have text");
      turns_.system_parts.push_back(std::move(part));
    }
    return {};
  }

  base::Status take_result(const Json& message, Json parts) {
    const std::string id(text_of(message, "tool_call_id"));
    const auto known = names_.find(id);
    const std::string_view name = known != names_.end() ? known->second : text_of(message, "name");
    if (name.empty())
      return bad_messages("tool_call_id \"" + std::string(cut_text(id, 64)) +
                          "\" does not match an earlier call");
    Json media = Json::array();
    for (Json& part : parts) {
      if (!part.contains("text")) media.push_back(std::move(part));
    }
    std::erase_if(parts.get_ref<Json::array_t&>(), [](const Json& part) { return !part.contains("text"); });
    Json response = {{"name", name}, {"response", response_object(std::move(parts))}};
    if (known != names_.end()) add_id(id, response);
    append("user", Json::array({{{"functionResponse", std::move(response)}}}));
    append("user", std::move(media));
    return {};
  }

  // Of a call or its result. Ids that the gateway made are not sent.
  static void add_id(std::string_view id, Json& object) {
    if (!id.empty() && !is_new_call_id(id)) object["id"] = id;
  }

  void take_answer(const Json& message, Json parts) {
    if (const std::string_view refusal = text_of(message, "refusal"); !refusal.empty()) {
      parts.push_back({{"text", refusal}});
    }
    const GeminiReasoningState reasoning_state =
        GeminiReasoningState::read(text_of(message, schemas::kReasoningStateMember));
    Json images = images_of(member(message, "images"));
    std::string_view signature = given_signature(message);
    if (signature.empty()) report_unread(HistoryPlace::kAssistant, message);
    if (signature.empty()) signature = reasoning_state.of_text();
    if (signature.empty() && !images.empty() && model_.signs_calls()) signature = kUnsigned;
    if (!signature.empty() && !parts.empty()) parts.back()["thoughtSignature"] = signature;
    for (Json& image : images) parts.push_back(std::move(image));
    if (const Json* calls = member(message, "tool_calls"); calls != nullptr && calls->is_array()) {
      take_calls(*calls, reasoning_state, parts);
    }
    append("model", std::move(parts));
  }

  // Reports members that have no signature in a form that is known.
  void report_unread(HistoryPlace place, const Json& object) {
    const Json* given = member(object, "extra_content");
    if (given != nullptr && !is_nothing(*given)) report_.dropped(history_name(place, "extra_content"));
  }

  // Images that an earlier reply drew. Gemini 3 rejects those without a signature.
  Json images_of(const Json* images) {
    Json parts = Json::array();
    if (images == nullptr || is_nothing(*images)) return parts;
    base::Result<Json> media = gemini_parts(images, report_);
    if (!media || !images->is_array() || media->size() != images->size()) {
      report_.dropped(history_name(HistoryPlace::kAssistant, "images"));
      return parts;
    }
    for (std::size_t i = 0; i < images->size(); ++i) {
      Json& part = parts.emplace_back(std::move((*media)[i]));
      std::string_view signature = given_signature((*images)[i]);
      if (signature.empty() && model_.signs_calls()) signature = kUnsigned;
      if (!signature.empty()) part["thoughtSignature"] = signature;
    }
    return parts;
  }

  void take_calls(const Json& calls, const GeminiReasoningState& reasoning_state, Json& parts) {
    bool is_first = true;
    for (const Json& call : calls) {
      const Json* function = member(call, "function");
      if (function == nullptr) function = member(call, "custom");
      const Json* arguments = member(function, "arguments");
      if (arguments == nullptr) arguments = member(function, "input");
      const std::string_view id = text_of(call, "id");
      const std::string name(text_of(member(function, "name")));
      names_[std::string(id)] = name;
      Json part = {{"functionCall", {{"name", name}, {"args", arguments_object(text_of(arguments))}}}};
      add_id(id, part["functionCall"]);
      std::string_view signature = given_signature(call);
      if (signature.empty()) signature = reasoning_state.of_call(id);
      if (signature.empty()) report_unread(HistoryPlace::kCall, call);
      if (signature.empty() && is_first && model_.signs_calls()) signature = kUnsigned;
      if (!signature.empty()) part["thoughtSignature"] = signature;
      parts.push_back(std::move(part));
      is_first = false;
    }
  }

  // Adjacent messages of one role become one turn. In a user turn, function results come first.
  void append(std::string_view role, Json parts) {
    if (parts.empty()) return;
    Json& contents = turns_.contents;
    if (contents.empty() || text_of(contents.back(), "role") != role) {
      end_turn();
      contents.push_back({{"role", role}, {"parts", Json::array()}});
    }
    Json& all = contents.back()["parts"];
    for (Json& part : parts) all.push_back(std::move(part));
  }

  void end_turn() {
    if (turns_.contents.empty()) return;
    Json& parts = turns_.contents.back()["parts"];
    std::ranges::stable_partition(parts.get_ref<Json::array_t&>(),
                                  [](const Json& part) { return part.contains("functionResponse"); });
  }

  const GeminiModel& model_;
  Parameters& report_;
  GeminiContents turns_;
  std::map<std::string, std::string, std::less<>> names_;  // function names by call id
};

}  // namespace

namespace {

// The messages after an answer, up to the next one: results first, in the order of the calls.
class AfterAnswer {
 public:
  AfterAnswer() = default;
  explicit AfterAnswer(const Json& answer) {
    const Json* calls = member(answer, "tool_calls");
    if (calls == nullptr || !calls->is_array()) return;
    for (std::size_t i = calls->size(); i-- > 0;) open_[text_of((*calls)[i], "id")].push_back(i);
  }

  void add(const Json& message) {
    if (text_of(message, "role") == "tool") {
      results_.emplace_back(place_of(text_of(message, "tool_call_id")), &message);
    } else {
      others_.push_back(&message);
    }
  }

  void move_to(std::vector<const Json*>& all) {
    std::ranges::stable_sort(results_, {}, &std::pair<std::size_t, const Json*>::first);
    for (const auto& [place, message] : results_) all.push_back(message);
    all.insert(all.end(), others_.begin(), others_.end());
  }

 private:
  // Of several calls with this id, the first that has no result yet.
  std::size_t place_of(std::string_view id) {
    const auto found = open_.find(id);
    if (found == open_.end()) return SIZE_MAX;
    std::vector<std::size_t>& places = found->second;
    const std::size_t place = places.back();
    if (places.size() > 1) places.pop_back();
    return place;
  }

  std::map<std::string_view, std::vector<std::size_t>> open_;  // places of calls by id, the first one last
  std::vector<std::pair<std::size_t, const Json*>> results_;
  std::vector<const Json*> others_;
};

std::vector<const Json*> in_call_order(const Json& messages) {
  std::vector<const Json*> all;
  AfterAnswer after;
  for (const Json& message : messages) {
    if (text_of(message, "role") != "assistant") {
      after.add(message);
      continue;
    }
    after.move_to(all);
    all.push_back(&message);
    after = AfterAnswer(message);
  }
  after.move_to(all);
  return all;
}

}  // namespace

base::Result<GeminiContents> gemini_contents(const Json& messages, const GeminiModel& model,
                                             Parameters& report) {
  GeminiConversation turns(model, report);
  if (messages.is_array()) {
    for (const Json* message : in_call_order(messages)) {
      if (base::Status taken = turns.take(*message); !taken) return taken.error();
    }
  }
  return turns.finish();
}

}  // namespace millrace::providers
