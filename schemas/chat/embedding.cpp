#include "schemas/chat/embedding.h"

#include <algorithm>
#include <array>
#include <bit>
#include <charconv>
#include <cmath>
#include <utility>

#include "platform/base/base64.h"
#include "schemas/chat/chat_tokens.h"
#include "schemas/json/json_number.h"
#include "schemas/json/json_text.h"

namespace millrace::schemas {
namespace {

// Enough for every token of the largest request and for the other values.
constexpr std::size_t kValuesMax = kEmbeddingTokensInAllMax + 2 * kEmbeddingInputsMax + 1024;
// Each value has at most two JSON tokens: a number and its comma, two brackets, and so on.
constexpr std::size_t kJsonTokensMax = 2 * kValuesMax;
constexpr std::int64_t kTokenMax = INT32_MAX;
constexpr std::array<std::string_view, 2> kEncodings{"float", "base64"};

struct EmbeddingRequestDraft : EmbeddingRequest {
  std::string encoding;
  std::int64_t least_tokens = 0;  // of all inputs
};

template <auto Member>
constexpr auto into_embedding = &store_in<EmbeddingRequestDraft, Member>;

std::string bound_ctx(std::int64_t bound) { return dump(Json{{"max_tokens", bound}}); }

void check_tokens(FieldReader& reader, EmbeddingRequestDraft& draft, std::int64_t tokens,
                  std::string_view how) {
  draft.least_tokens += tokens;
  if (tokens <= kEmbeddingTokensMax) return;
  reader.problem("Input should have at most 8192 tokens: it has " + std::string(how) + std::to_string(tokens),
                 "too_many_tokens", nullptr, bound_ctx(kEmbeddingTokensMax));
}

void read_text(FieldReader& reader, const Json& value, EmbeddingRequestDraft& draft) {
  const auto text = reader.text(value);
  if (!text) return reader.problem("Input should be a valid string", "string_type", &value);
  if (text->empty()) return reader.problem("Input should not be an empty string", "string_too_short", &value);
  check_tokens(reader, draft, least_tokens(*text), "at least ");
  draft.input_tokens += estimated_tokens(*text);
  draft.texts.emplace_back(*text);
}

void read_token_list(FieldReader& reader, const Json& value, EmbeddingRequestDraft& draft) {
  std::vector<std::int32_t> tokens;
  tokens.reserve(value.size());
  for (std::size_t i = 0; i < value.size(); ++i) {
    const Json& each = value[i];
    const bool good = each.is_number_integer() && each >= 0 && each <= kTokenMax;
    if (good) {
      tokens.push_back(each.get<std::int32_t>());
      continue;
    }
    const FieldReader::Inside item(reader, i);
    return reader.problem("Tokens are integers from 0", "int_type", &each);
  }
  const auto count = static_cast<std::int64_t>(tokens.size());
  check_tokens(reader, draft, count, "");
  draft.input_tokens += count;
  draft.tokens.push_back(std::move(tokens));
}

void read_token_lists(FieldReader& reader, const Json& value, EmbeddingRequestDraft& draft) {
  for (std::size_t i = 0; i < value.size(); ++i) {
    const FieldReader::Inside item(reader, i);
    if (reader.is_list(value[i], 1)) read_token_list(reader, value[i], draft);
  }
}

void read_texts(FieldReader& reader, const Json& value, EmbeddingRequestDraft& draft) {
  for (std::size_t i = 0; i < value.size(); ++i) {
    const FieldReader::Inside item(reader, i);
    read_text(reader, value[i], draft);
  }
}

void read_list(FieldReader& reader, const Json& value, EmbeddingRequestDraft& draft) {
  if (!reader.is_list(value, 1, kEmbeddingInputsMax)) return;
  if (value.front().is_array()) return read_token_lists(reader, value, draft);
  if (value.front().is_number()) return read_token_list(reader, value, draft);
  read_texts(reader, value, draft);
}

void read_input(void* object, FieldReader& reader, const Json& value) {
  EmbeddingRequestDraft& draft = *static_cast<EmbeddingRequestDraft*>(object);
  if (reader.text(value)) {
    read_text(reader, value, draft);
  } else if (value.is_array()) {
    read_list(reader, value, draft);
  } else {
    reader.problem("Input should be a string, a list of strings, a list of tokens or a list of such lists",
                   "embedding_input", &value);
  }
  if (draft.least_tokens <= kEmbeddingTokensInAllMax) return;
  reader.problem("All inputs together should have at most 300000 tokens: they have " +
                     std::string(draft.texts.empty() ? "" : "at least ") + std::to_string(draft.least_tokens),
                 "too_many_tokens", nullptr, bound_ctx(kEmbeddingTokensInAllMax));
}

constexpr std::string_view kInputSchema =
    R"({"oneOf":[{"type":"string","minLength":1},)"
    R"({"type":"array","minItems":1,"maxItems":2048,"items":{"type":"string","minLength":1}},)"
    R"({"type":"array","minItems":1,"maxItems":2048,"items":{"type":"integer","minimum":0}},)"
    R"({"type":"array","minItems":1,"maxItems":2048,"items":{"type":"array","minItems":1,"items":{"type":"integer","minimum":0}}}]})";

constexpr std::array kEmbeddingTable{
    Field{.name = "input",
          .type = FieldType::kCustom,
          .required = true,
          .text = "At most 8,192 tokens each and 300,000 in all. The gateway refuses a text only if it "
                  "certainly has "
                  "more; the provider counts exactly",
          .schema = kInputSchema,
          .custom = &read_input},
    Field{.name = "model",
          .required = true,
          .min = 1,
          .max = 255,
          .store = into_embedding<&EmbeddingRequestDraft::model>},
    Field{.name = "encoding_format",
          .text = "base64: little-endian float32 values in base64",
          .choices = kEncodings,
          .default_json = "\"float\"",
          .store = into_embedding<&EmbeddingRequestDraft::encoding>},
    Field{.name = "dimensions",
          .type = FieldType::kInteger,
          .text = "For text-embedding-3 and later",
          .min = 1,
          .max = kEmbeddingDimensionsMax,
          .store =
              [](void* object, FieldReader&, const Json& value) {
                static_cast<EmbeddingRequestDraft*>(object)->dimensions = value.get<int>();
              }},
    Field{.name = "user",
          .text = "An id of the end user",
          .deprecated = true,
          .store = into_embedding<&EmbeddingRequestDraft::user>},
};

Refusal too_many_tokens() {
  FieldProblem problem{.loc = {"body", "input"},
                       .msg = "All inputs together should have at most 300000 tokens",
                       .type = "too_many_tokens",
                       .input = {},
                       .ctx = bound_ctx(kEmbeddingTokensInAllMax)};
  return invalid({std::move(problem)});
}

void take_extra(JsonBody body, const std::vector<std::string>& unknown, EmbeddingRequest& out) {
  for (const Field& field : kEmbeddingTable) body.value.erase(std::string(field.name));
  Json rest = whole(std::move(body));
  for (const std::string& name : unknown) {
    if (Json& value = rest[name]; !value.is_null()) out.extra[name] = std::move(value);
  }
}

}  // namespace

std::span<const Field> embedding_request_fields() { return kEmbeddingTable; }

tl::expected<EmbeddingRequest, Refusal> parse_embedding_request(std::string& body) {
  if (body.size() > kJsonTokensMax && more_json_tokens_than(kJsonTokensMax, body))
    return tl::make_unexpected(too_many_tokens());
  auto read = read_json(body, kValuesMax, Numbers::kExact);
  if (!read) return tl::make_unexpected(Refusal{read.error(), {}});
  EmbeddingRequestDraft draft;
  FieldReader reader("body", *read);
  reader.read(kEmbeddingTable, read->value, &draft);
  if (!reader.problems().empty()) return tl::make_unexpected(invalid(std::move(reader.problems())));
  draft.base64 = draft.encoding == kEncodings[1];
  take_extra(*std::move(read), reader.unknown(), draft);
  return EmbeddingRequest(std::move(static_cast<EmbeddingRequest&>(draft)));
}

namespace {

constexpr std::size_t kFloatText = 32;  // bytes; longer than any float

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
