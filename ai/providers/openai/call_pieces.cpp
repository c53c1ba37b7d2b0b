#include "ai/providers/openai/call_pieces.h"

#include <utility>

namespace millrace::providers {

void ObjectEnd::add(std::string_view text) {
  constexpr std::string_view kBlanks = " \t\r\n";
  for (const char c : text) {
    if (quoted_) {
      quoted_ = escaped_ || c != '"';
      escaped_ = !escaped_ && c == '\\';
      continue;
    }
    if (kBlanks.find(c) != std::string_view::npos) continue;
    if (!std::exchange(begun_, true)) is_object_ = c == '{';
    if (c == '"') quoted_ = true;
    if (c == '{' || c == '[') ++depth_;
    if (c == '}' || c == ']') --depth_;
  }
}

bool OpenaiCall::is_before(std::string_view new_name, std::string_view new_arguments) const {
  if (new_name.empty() || !arguments.is_reached()) return false;
  return new_name != name || new_arguments.find_first_not_of(" \t\r\n") != std::string_view::npos;
}

bool OpenaiCall::take(schemas::ToolCallPiece& piece, std::string new_name) {
  if (is_sent) {
    if (name.empty()) piece.name = name = std::move(new_name);
    return true;
  }
  if (new_name != name) name += new_name;  // some upstreams repeat it in each piece
  if (piece.arguments.empty()) {
    schemas::merge_members(held.extra, piece.extra);
    return false;
  }
  schemas::ToolCallPiece first = release();
  first.arguments = std::move(piece.arguments);
  schemas::merge_members(first.extra, piece.extra);
  piece = std::move(first);
  return true;
}

schemas::ToolCallPiece OpenaiCall::release() {
  is_sent = true;
  held.name = name;
  return std::exchange(held, {});
}

}  // namespace millrace::providers
