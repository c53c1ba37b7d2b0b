#include "schemas/jobs/job_name.h"

#include <algorithm>

#include "schemas/jobs/sealed_spec.h"
#include "schemas/json/json_body.h"
#include "schemas/json/json_tree.h"
#include "schemas/json/quick_json.h"
#include "schemas/media/ocr.h"

namespace millrace::schemas {
namespace {

namespace sj = simdjson::ondemand;

bool is_white(char c) { return c == ' ' || (c >= '\t' && c <= '\r'); }

// The last position at or before `at` that is not inside of a character.
std::size_t character_start(std::string_view text, std::size_t at) {
  while (at > 0 && at < text.size() && (static_cast<unsigned char>(text[at]) & 0xC0U) == 0x80U) --at;
  return at;
}

// Collects a text with single spaces, up to the length of a name.
class TextName {
 public:
  void add(std::string_view text) {
    for (const char c : text) {
      if (is_full()) return;
      if (!is_white(c)) {
        out_ += c;
      } else if (!out_.empty() && out_.back() != ' ') {
        out_ += ' ';
      }
    }
  }
  // One byte more than is needed, in case that the last one is a space.
  bool is_full() const { return out_.size() > kTextNameMax + 1; }

  std::string name() && {
    if (!out_.empty() && out_.back() == ' ') out_.pop_back();
    if (out_.size() <= kTextNameMax) return std::move(out_);
    const std::size_t space = out_.rfind(' ', kTextNameMax);
    out_.resize(space != std::string::npos && space > 0 ? space : character_start(out_, kTextNameMax));
    return std::move(out_) + "…";
  }

 private:
  std::string out_;
};

std::string_view string_of(simdjson::simdjson_result<sj::value> value) {
  std::string_view text;
  return is_good(value.get_string().get(text)) ? text : std::string_view();
}

std::string execution_name(sj::document& spec) {
  sj::array command;
  TextName name;
  if (!is_good(spec.find_field_unordered("command").get_array().get(command))) return {};
  for (auto word : command) {
    std::string_view text;
    if (!is_good(word.get_string().get(text))) return {};
    name.add(text);
    name.add(" ");
  }
  return std::move(name).name();
}

// The text of a message: a string, or the parts that are text.
std::string message_name(sj::value content) {
  TextName name;
  std::string_view text;
  if (is_good(content.get_string().get(text))) {
    name.add(text);
    return std::move(name).name();
  }
  sj::array parts;
  if (!is_good(content.get_array().get(parts))) return {};
  for (auto part : parts) {
    sj::object object;
    if (!is_good(part.get_object().get(object))) return {};
    if (object.find_field_unordered("text").get_string().get(text) == simdjson::SUCCESS) {
      name.add(text);
      name.add(" ");
    }
  }
  return std::move(name).name();
}

std::string chat_name(sj::document& spec) {
  sj::array messages;
  if (!is_good(spec.find_field_unordered("body").find_field_unordered("messages").get_array().get(messages)))
    return {};
  std::string name;
  for (auto message : messages) {
    sj::object object;
    if (!is_good(message.get_object().get(object))) return {};
    if (string_of(object.find_field_unordered("role")) != "user") continue;
    sj::value content;
    if (is_good(object.find_field_unordered("content").get(content))) name = message_name(content);
  }
  return name;
}

std::string given_name(sj::document& spec, std::string_view member) {
  return job_name(string_of(spec.find_field_unordered(member)));
}

}  // namespace

bool may_have_name(Kind kind) { return kind != Kind::kMachine; }

std::string job_name(Kind kind, std::string spec) {
  if (!may_have_name(kind) || spec.size() > kSharedParserMax) return {};
  spec.resize(json_size(spec));
  const auto text = padded(spec, kJsonPadding);
  sj::document document;
  if (!is_good(shared_parser().iterate(text).get(document))) return {};
  if (is_sealed(spec)) return given_name(document, kSealedName);
  switch (kind) {
    case Kind::kOcr:
      return given_name(document, "document_name");
    case Kind::kStt:
      return given_name(document, "file_name");
    case Kind::kExec:
      return execution_name(document);
    case Kind::kChat:
      return chat_name(document);
    case Kind::kMachine:
      break;
  }
  return {};
}

std::string job_name(std::string_view given) {
  return std::string(given.substr(0, character_start(given, std::min(given.size(), kJobNameMax))));
}

}  // namespace millrace::schemas
