#include "ai/inference/mcp_result.h"

#include <algorithm>
#include <string>
#include <string_view>
#include <utility>

#include "ai/inference/mcp_wire.h"
#include "ai/providers/wire_words.h"
#include "schemas/json_body.h"

namespace millrace::inference {
namespace {

using nlohmann::json;

std::string_view text_at(const json& object, const char* name) {
  const auto found = object.find(name);
  return found != object.end() && found->is_string() ? std::string_view(found->get_ref<const std::string&>())
                                                     : std::string_view();
}

// "[image: image/png, 12 bytes]": what cannot be told as text.
std::string described(std::string_view what, std::string_view type, std::string_view base64) {
  std::string out = "[" + std::string(what);
  if (!type.empty()) out.append(": ").append(type);
  const std::size_t padding = base64.ends_with("==") ? 2 : base64.ends_with('=') ? 1 : 0;
  const std::size_t bytes = base64.size() / 4 * 3 - std::min(padding, base64.size() / 4 * 3);
  return out.append(", ").append(std::to_string(bytes)).append(" bytes]");
}

std::string resource_text(const json& block) {
  const auto found = block.find("resource");
  if (found == block.end() || !found->is_object()) return "[resource]";
  if (const auto text = found->find("text"); text != found->end() && text->is_string()) return *text;
  return described("resource " + std::string(text_at(*found, "uri")), text_at(*found, "mimeType"),
                   text_at(*found, "blob"));
}

std::string link_text(const json& block) {
  std::string out = "[resource " + std::string(text_at(block, "uri"));
  for (const char* name : {"name", "description"}) {
    if (const auto text = text_at(block, name); !text.empty()) out.append(": ").append(text);
  }
  return out.append("]");
}

std::string block_text(const json& block) {
  if (!block.is_object()) return "[content of no type]";
  const std::string_view type = text_at(block, "type");
  if (type == "text") return std::string(text_at(block, "text"));
  if (type == "image" || type == "audio")
    return described(type, text_at(block, "mimeType"), text_at(block, "data"));
  if (type == "resource") return resource_text(block);
  if (type == "resource_link") return link_text(block);
  return "[content of type " + std::string(type) + "]";
}

// Servers repeat their structured content as text, for those who know only that.
bool says(std::string_view text, const json& structured) {
  const auto first = text.find_first_not_of(" \t\r\n");
  if (first == std::string_view::npos || (structured.is_object() && text[first] != '{')) return false;
  return json::parse(text, nullptr, false) == structured;
}

void cut(std::string& text, std::size_t bytes_max) {
  if (text.size() <= bytes_max) return;
  const std::size_t all = text.size();
  const std::string_view kept = providers::cut_text(text, bytes_max);
  text.resize(kept.size());
  text.append("\n[cut here: the first ").append(std::to_string(kept.size()));
  text.append(" of ").append(std::to_string(all)).append(" bytes]");
}

void append_line(std::string& out, std::string_view line) {
  if (!out.empty()) out += '\n';
  out.append(line);
}

}  // namespace

base::Result<McpOutcome> read_mcp_outcome(const json& result, std::size_t bytes_max) {
  const std::string_view kind = text_at(result, "resultType");
  if (kind == "input_required")
    return mcp_fault("asks for input that only a person can give (input_required)");
  if (!kind.empty() && kind != "complete") return mcp_fault("gave a result of a type that is not known here");
  McpOutcome outcome;
  const auto is_error = result.find("isError");
  outcome.is_error = is_error != result.end() && *is_error == true;
  const auto structured = result.find("structuredContent"), content = result.find("content");
  bool told = structured == result.end() || structured->is_null();
  if (content != result.end() && content->is_array()) {
    for (const json& block : *content) {
      const std::string text = block_text(block);
      told = told || says(text, *structured);
      append_line(outcome.text, text);
    }
  }
  if (!told) append_line(outcome.text, schemas::dump(*structured));
  cut(outcome.text, bytes_max);
  return outcome;
}

}  // namespace millrace::inference
