#include <algorithm>
#include <map>

#include "schemas/chat_wanted.h"

// Messages that are known to be right, in the one form of OpenAI's present interface.
namespace millrace::schemas {
namespace {

using nlohmann::json;

// Takes a member out of an object.
json taken(json& object, const char* name) {
  json value = std::move(object[name]);
  object.erase(name);
  return value;
}

void erase_nulls(json& object) {
  for (auto at = object.begin(); at != object.end();) at = at->is_null() ? object.erase(at) : std::next(at);
}

void form_image(json& part) {
  json url = taken(part, "image_url");
  if (url.is_string()) url = {{"url", std::move(url)}};
  if (part.contains("detail")) url["detail"] = taken(part, "detail");
  part["type"] = "image_url";
  part["image_url"] = std::move(url);
}

void form_file(json& part) {
  json file = json::object();
  for (const char* name : {"file_data", "file_id", "filename"})
    if (part.contains(name)) file[name] = taken(part, name);
  part["type"] = "file";
  part["file"] = std::move(file);
}

void form_part(json& part) {
  erase_nulls(part);
  const std::string type = part["type"].get<std::string>();
  if (type == "input_text" || type == "output_text") part["type"] = "text";
  if (type == "input_image" || type == "image_url") form_image(part);
  if (type == "input_file") form_file(part);
}

// The ids that calls of the old form have not: one per message that asks, found again by the function's name.
class OldCalls {
 public:
  json asked(json call, std::size_t message) {
    std::string id = "call_" + std::to_string(message);
    ids_[call["name"].get<std::string>()] = id;
    return {{"id", std::move(id)}, {"type", "function"}, {"function", std::move(call)}};
  }
  const std::string& id(const std::string& name) { return ids_[name]; }

 private:
  std::map<std::string, std::string> ids_;
};

void form_calls(json& message, OldCalls& old, std::size_t place) {
  if (message.contains("function_call")) {
    json call = old.asked(taken(message, "function_call"), place);
    if (!message.contains("tool_calls")) message["tool_calls"] = json::array({std::move(call)});
  }
  const auto calls = message.find("tool_calls");
  if (calls == message.end()) return;
  if (calls->empty()) {
    message.erase(calls);
    return;
  }
  for (json& call : *calls) {
    erase_nulls(call);
    call.emplace("type", "function");
  }
}

}  // namespace

void form_messages(json& messages) {
  OldCalls old;
  for (std::size_t i = 0; i < messages.size(); ++i) {
    json& message = messages[i];
    erase_nulls(message);
    message.erase(std::string(kContinuity));
    if (message["role"] == "function") {
      message["role"] = "tool";
      message["tool_call_id"] = old.id(message["name"].get<std::string>());
      message.erase("name");
      message.emplace("content", "");
    }
    form_calls(message, old, i);
    const auto content = message.find("content");
    if (content == message.end() || !content->is_array()) continue;
    for (json& part : *content) form_part(part);
  }
}

}  // namespace millrace::schemas
