#include "schemas/json/broken_json.h"

#include <charconv>
#include <cstdint>
#include <utility>

#include "platform/base/utf8.h"
#include "schemas/json/json_tree.h"

namespace millrace::schemas {
namespace {

constexpr std::string_view kReplacement = "\xEF\xBF\xBD";  // U+FFFD
constexpr std::size_t kEscapeBytes = 6;                    // \uXXXX
constexpr std::size_t kSurrogateBytes = 3;                 // of a raw one

unsigned byte_in(std::string_view text, std::size_t at) { return static_cast<unsigned char>(text[at]); }

bool is_high(unsigned code) { return code >= 0xD800 && code <= 0xDBFF; }
bool is_low(unsigned code) { return code >= 0xDC00 && code <= 0xDFFF; }

// The raw surrogate that a text begins with; 0: none.
unsigned surrogate_at(std::string_view text) {
  if (text.size() < kSurrogateBytes || byte_in(text, 0) != 0xED) return 0;
  const unsigned second = byte_in(text, 1), third = byte_in(text, 2);
  const bool is_one = second >= 0xA0 && second <= 0xBF && third >= 0x80 && third <= 0xBF;
  return is_one ? 0xD000 | (second & 0x3F) << 6 | (third & 0x3F) : 0;
}

void append_pair(std::string& out, unsigned high, unsigned low) {
  const unsigned code = 0x10000 + ((high & 0x3FF) << 10) + (low & 0x3FF);
  for (const unsigned byte :
       {0xF0 | code >> 18, 0x80 | (code >> 12 & 0x3F), 0x80 | (code >> 6 & 0x3F), 0x80 | (code & 0x3F)})
    out += static_cast<char>(byte);
}

// An escape of a JSON text, from its backslash on.
struct Escape {
  std::size_t size = 2;
  unsigned lone_surrogate = 0;  // 0: it is none
  bool is_mark = false;         // see kMark
};

std::optional<unsigned> code_at(std::string_view text) {
  if (text.size() < kEscapeBytes || text[0] != '\\' || text[1] != 'u') return std::nullopt;
  unsigned code = 0;
  const char* const end = text.data() + kEscapeBytes;
  const auto read = std::from_chars(text.data() + 2, end, code, 16);
  return read.ptr == end ? std::optional(code) : std::nullopt;
}

constexpr unsigned kMarkCode = 0xFDD0;

Escape escape_at(std::string_view text) {
  const std::optional<unsigned> code = code_at(text);
  if (!code) {
    const bool is_known = text.size() > 1 && byte_in(text, 1) < 0x80;
    return {.size = is_known ? 2u : 1u};
  }
  if (!is_high(*code) && !is_low(*code)) return {.size = kEscapeBytes, .is_mark = *code == kMarkCode};
  if (is_high(*code)) {
    const std::optional<unsigned> next = code_at(text.substr(kEscapeBytes));
    if (next && is_low(*next)) return {.size = 2 * kEscapeBytes};
  }
  return {.size = kEscapeBytes, .lone_surrogate = *code};
}

// Calls `on_run` for each text between escapes, and `on_escape` for each escape and its text.
template <class OnRun, class OnEscape>
void walk(std::string_view text, OnRun&& on_run, OnEscape&& on_escape) {
  while (!text.empty()) {
    const std::string_view run = text.substr(0, text.find('\\'));
    on_run(run);
    text.remove_prefix(run.size());
    if (text.empty()) return;
    const Escape escape = escape_at(text);
    on_escape(escape, text.substr(0, escape.size));
    text.remove_prefix(escape.size);
  }
}

bool has_lone_surrogate(std::string_view text) {
  for (std::size_t at = text.find('\\'); at != std::string_view::npos; at = text.find('\\', at)) {
    const Escape escape = escape_at(text.substr(at));
    if (escape.lone_surrogate != 0) return true;
    at += escape.size;
  }
  return false;
}

// Parsers reject broken text. Each broken byte passes them as a mark and the character U+0100 + byte.
constexpr std::string_view kMark = "\xEF\xB7\x90";  // kMarkCode
constexpr std::size_t kMarkedBytes = 5;

void append_marked(std::string& out, unsigned byte) {
  out.append(kMark);
  out += static_cast<char>(0xC4 + (byte >> 6));
  out += static_cast<char>(0x80 | (byte & 0x3F));
}

void append_marked_run(std::string& out, std::string_view run) {
  while (!run.empty()) {
    const base::Utf8Character next = base::utf8_character(run);
    const std::string_view text = run.substr(0, next.size);
    if (!next.is_whole()) {
      for (std::size_t i = 0; i < text.size(); ++i) append_marked(out, byte_in(text, i));
    } else {
      out.append(text == kMark ? kReplacement : text);
    }
    run.remove_prefix(next.size);
  }
}

std::string marked(std::string_view text) {
  std::string out;
  out.reserve(text.size() + text.size() / 8);
  walk(
      text, [&](std::string_view run) { append_marked_run(out, run); },
      [&](const Escape& escape, std::string_view written) {
        if (escape.is_mark) {
          out.append(kReplacement);
        } else if (const unsigned code = escape.lone_surrogate; code != 0) {
          append_marked(out, 0xED);
          append_marked(out, 0x80 | (code >> 6 & 0x3F));
          append_marked(out, 0x80 | (code & 0x3F));
        } else {
          out.append(written);
        }
      });
  return out;
}

void unmark(std::string& text) {
  std::size_t at = text.find(kMark);
  if (at == std::string::npos) return;
  std::string out;
  for (std::size_t from = 0;; at = text.find(kMark, from)) {
    out.append(text, from, at - from);
    if (at == std::string::npos) break;
    const unsigned first = byte_in(text, at + kMark.size()), second = byte_in(text, at + kMark.size() + 1);
    out += static_cast<char>((first - 0xC4) << 6 | (second & 0x3F));
    from = at + kMarkedBytes;
  }
  text = std::move(out);
}

void repair_text(std::string& text) {
  if (!base::is_utf8(text)) text = repair_utf8(text);
}

void change_texts(Json& tree, void (*change)(std::string&)) {
  if (auto* text = tree.get_ptr<std::string*>()) {
    change(*text);
  } else if (tree.is_array()) {
    for (Json& each : tree) change_texts(each, change);
  } else if (tree.is_object()) {
    Json changed = Json::object();
    for (auto member = tree.begin(); member != tree.end(); ++member) {
      change_texts(member.value(), change);
      std::string name = member.key();
      change(name);
      changed[name] = std::move(member.value());
    }
    tree = std::move(changed);
  }
}

}  // namespace

bool is_valid_utf8_json(std::string_view text) { return base::is_utf8(text) && !has_lone_surrogate(text); }

std::string repair_utf8_json(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  walk(
      text, [&](std::string_view run) { out.append(repair_utf8(run)); },
      [&](const Escape& escape, std::string_view written) {
        out.append(escape.lone_surrogate != 0 ? kReplacement : written);
      });
  return out;
}

std::optional<Json> parse_broken_json(std::string_view text, int depth_max) {
  std::optional<Json> tree = parse_json(marked(text), depth_max);
  if (tree) change_texts(*tree, unmark);
  return tree;
}

std::string repair_utf8(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  while (!text.empty()) {
    const base::Utf8Character next = base::utf8_character(text);
    const unsigned surrogate = surrogate_at(text);
    std::size_t size = next.size;
    if (next.is_whole()) {
      out.append(text.substr(0, size));
    } else if (surrogate == 0) {
      out.append(kReplacement);
    } else if (const unsigned low = surrogate_at(text.substr(kSurrogateBytes));
               is_high(surrogate) && is_low(low)) {
      append_pair(out, surrogate, low);
      size = 2 * kSurrogateBytes;
    } else {
      out.append(kReplacement);
      size = kSurrogateBytes;
    }
    text.remove_prefix(size);
  }
  return out;
}

void repair_texts(Json& tree) { change_texts(tree, repair_text); }

std::size_t incomplete_suffix(std::string_view text) {
  if (text.size() >= kSurrogateBytes && is_high(surrogate_at(text.substr(text.size() - kSurrogateBytes))))
    return kSurrogateBytes;
  return base::incomplete_utf8(text);
}

}  // namespace millrace::schemas
