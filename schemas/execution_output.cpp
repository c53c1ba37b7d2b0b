#include <algorithm>

#include <nlohmann/json.hpp>
#include <simdjson.h>

#include "platform/base/base64.h"
#include "schemas/execution.h"
#include "schemas/json_text.h"

namespace millrace::schemas {
namespace {

base::Error no_output() {
  return base::error(base::Code::kInternal, "the data of an output event is not what was written");
}

unsigned char byte_at(std::string_view bytes, std::size_t at) {
  return static_cast<unsigned char>(bytes[at]);
}

bool continues(unsigned char byte) { return (byte & 0xC0) == 0x80; }

// How many bytes the character that begins so has; 0: no character does.
std::size_t character_bytes(unsigned char first) {
  if (first >= 0xC2 && first <= 0xDF) return 2;
  if (first >= 0xE0 && first <= 0xEF) return 3;
  if (first >= 0xF0 && first <= 0xF4) return 4;
  return 0;
}

// The bounds of a second byte that keep out what is too long, a surrogate or above U+10FFFF.
bool may_follow(unsigned char first, unsigned char second) {
  switch (first) {
    case 0xE0:
      return second >= 0xA0 && second <= 0xBF;
    case 0xED:
      return second >= 0x80 && second <= 0x9F;
    case 0xF0:
      return second >= 0x90 && second <= 0xBF;
    case 0xF4:
      return second >= 0x80 && second <= 0x8F;
    default:
      return continues(second);
  }
}

// True if `tail` is the beginning of a character, and not all of it.
bool is_begun(std::string_view tail) {
  if (character_bytes(byte_at(tail, 0)) <= tail.size()) return false;
  if (tail.size() > 1 && !may_follow(byte_at(tail, 0), byte_at(tail, 1))) return false;
  return tail.size() < 3 || continues(byte_at(tail, 2));
}

}  // namespace

std::string_view name(OutputStream stream) {
  switch (stream) {
    case OutputStream::kStdout:
      return "stdout";
    case OutputStream::kStderr:
      return "stderr";
  }
  return {};
}

bool is_text(std::string_view bytes) { return simdjson::validate_utf8(bytes.data(), bytes.size()); }

std::string output_event_data(std::string_view bytes) {
  constexpr std::size_t kAround = 64;
  JsonObject out(bytes.size() + bytes.size() / 2 + kAround);
  if (is_text(bytes)) return out.member("chunk", bytes).finish();
  return out.member("chunk", base::base64_encode(bytes)).member("encoding", "base64").finish();
}

base::Result<std::string> output_bytes(std::string_view event_data) {
  const auto data = nlohmann::json::parse(event_data, nullptr, false);
  if (!data.is_object() || !data.contains("chunk") || !data["chunk"].is_string()) return no_output();
  const auto& chunk = data["chunk"].get_ref<const std::string&>();
  if (!data.contains("encoding")) return chunk;
  auto bytes = base::base64_decode(chunk);
  if (data["encoding"] != "base64" || !bytes) return no_output();
  return std::move(*bytes);
}

std::string warning_event_data(std::string_view message) {
  return JsonObject().member("message", message).finish();
}

std::string warning_message(std::string_view event_data) {
  const auto data = nlohmann::json::parse(event_data, nullptr, false);
  const bool told = data.is_object() && data.contains("message") && data["message"].is_string();
  return told ? data["message"].get<std::string>() : std::string();
}

std::size_t incomplete_tail(std::string_view bytes) {
  constexpr std::size_t kTailMax = 3;
  for (std::size_t count = 1; count <= std::min(kTailMax, bytes.size()); ++count) {
    const std::string_view tail = bytes.substr(bytes.size() - count);
    if (continues(byte_at(tail, 0))) continue;
    return is_begun(tail) ? count : 0;
  }
  return 0;
}

}  // namespace millrace::schemas
