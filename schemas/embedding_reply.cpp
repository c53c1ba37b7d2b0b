#include "schemas/embedding_reply.h"

#include <algorithm>
#include <bit>
#include <charconv>
#include <cmath>

#include "platform/base/base64.h"
#include "schemas/json_text.h"

namespace millrace::schemas {
namespace {

constexpr std::size_t kFloatText = 32;  // bytes that the longest float takes, and more

void append_float(std::string& out, float value) {
  if (value == 0 && std::signbit(value)) {  // "-0" is read as an integer, which has no sign
    out += "-0.0";
    return;
  }
  char text[kFloatText];
  const auto [end, ignored] = std::to_chars(text, text + sizeof text, value);
  out.append(text, end);
}

void append_list(std::string& out, const Vector& vector) {
  out += '[';
  for (std::size_t i = 0; i < vector.size(); ++i) {
    if (i > 0) out += ',';
    append_float(out, vector[i]);
  }
  out += ']';
}

std::size_t expected_bytes(const EmbeddingReply& reply, bool base64) {
  constexpr std::size_t kRow = 64, kText = 12, kPacked = 6;
  std::size_t numbers = 0;
  for (const Vector& each : reply.vectors) numbers += each.size();
  return 512 + reply.vectors.size() * kRow + numbers * (base64 ? kPacked : kText);
}

}  // namespace

std::string packed_vector(const Vector& vector) {
  std::string bytes;
  bytes.reserve(vector.size() * sizeof(float));
  for (const float each : vector) {
    const auto bits = std::bit_cast<std::uint32_t>(each);
    for (unsigned shift = 0; shift < 32; shift += 8)
      bytes.push_back(static_cast<char>(bits >> shift & 0xFFU));
  }
  return base::base64_encode(bytes);
}

std::optional<Vector> unpacked_vector(std::string_view base64) {
  const auto bytes = base::base64_decode(base64);
  if (!bytes || bytes->size() % sizeof(float) != 0) return std::nullopt;
  Vector vector(bytes->size() / sizeof(float));
  for (std::size_t i = 0; i < vector.size(); ++i) {
    std::uint32_t bits = 0;
    for (std::size_t byte = 4; byte-- > 0;)
      bits = bits << 8 | static_cast<unsigned char>((*bytes)[i * sizeof(float) + byte]);
    vector[i] = std::bit_cast<float>(bits);
  }
  const bool finite =
      std::all_of(vector.begin(), vector.end(), [](float each) { return std::isfinite(each); });
  return finite ? std::optional(std::move(vector)) : std::nullopt;
}

std::string embedding_reply_json(const EmbeddingReply& reply, bool base64) {
  std::string out;
  out.reserve(expected_bytes(reply, base64));
  out += R"({"object":"list","data":[)";
  for (std::size_t i = 0; i < reply.vectors.size(); ++i) {
    out.append(i > 0 ? "," : "").append(R"({"object":"embedding","index":)").append(std::to_string(i));
    out += ",\"embedding\":";
    if (base64) {
      out.append("\"").append(packed_vector(reply.vectors[i])).append("\"");
    } else {
      append_list(out, reply.vectors[i]);
    }
    out += '}';
  }
  out += "],\"model\":";
  append_json_string(out, reply.model);
  out += ",\"id\":";
  append_json_string(out, reply.id);
  out.append(",\"usage\":{\"prompt_tokens\":").append(std::to_string(reply.prompt_tokens));
  out.append(",\"total_tokens\":").append(std::to_string(reply.total_tokens)).append("}}");
  return out;
}

}  // namespace millrace::schemas
