#include "ai/providers/openai_media.h"

#include <array>
#include <utility>

#include "ai/providers/openai_reply.h"
#include "ai/providers/vector_reader.h"
#include "ai/providers/wire_words.h"
#include "schemas/json_body.h"
#include "schemas/json_text.h"

namespace millrace::providers {
namespace {

using schemas::DroppedParam;
using schemas::EmbeddingRequest;

template <class Item, class Append>
void append_list(std::string& out, const std::vector<Item>& items, std::size_t first, std::size_t count,
                 const Append& append) {
  out += '[';
  for (std::size_t i = first; i < first + count; ++i) {
    if (i > first) out += ',';
    append(out, items[i]);
  }
  out += ']';
}

void append_token(std::string& out, std::int32_t token) { out += std::to_string(token); }

// A list even of one input: every upstream takes it.
std::string inputs_of(const EmbeddingPart& part) {
  std::string out;
  if (!part.request.texts.empty()) {
    append_list(out, part.request.texts, part.first, part.count, schemas::append_json_string);
  } else {
    append_list(out, part.request.tokens, part.first, part.count,
                [](std::string& to, const std::vector<std::int32_t>& tokens) {
                  append_list(to, tokens, 0, tokens.size(), append_token);
                });
  }
  return out;
}

bool is_mistral(const Target& target) { return target.preset->dialect == Dialect::kMistral; }

void tell_user(const Target& target, const EmbeddingRequest& request, WireRequest& made, Json& rest) {
  if (request.user.empty()) return;
  const std::string_view told = first_characters(request.user, kUserCharactersMax);
  switch (support(target, "user").value_or(Support::kDropped)) {
    case Support::kNative:
    case Support::kClamped:
      rest["user"] = told;
      if (told.size() < request.user.size()) made.dropped.push_back({"user", DroppedParam::How::kClamped});
      break;
    case Support::kEmulated:
    case Support::kDropped:
      made.dropped.push_back({"user", DroppedParam::How::kDropped});
      break;
  }
}

// One vector of each row, in the rows' order of `index`.
std::optional<std::vector<schemas::Vector>> rows_of(Json& data, std::vector<schemas::Vector>& read) {
  std::vector<schemas::Vector> out(data.size());
  std::size_t next = 0;
  for (std::size_t place = 0; place < data.size(); ++place) {
    const Json* embedding = member(data[place], "embedding");
    const auto index = integer_of(data[place], "index").value_or(static_cast<std::int64_t>(place));
    if (embedding == nullptr || index < 0 || index >= static_cast<std::int64_t>(out.size()))
      return std::nullopt;
    schemas::Vector& vector = out[static_cast<std::size_t>(index)];
    if (!vector.empty()) return std::nullopt;
    if (embedding->is_string()) {
      auto unpacked = schemas::unpacked_vector(embedding->get_ref<const std::string&>());
      if (!unpacked) return std::nullopt;
      vector = *std::move(unpacked);
    } else if (embedding->is_array() && next < read.size()) {
      vector = std::move(read[next++]);
    }
    if (vector.empty()) return std::nullopt;
  }
  return out;
}

}  // namespace

WireRequest openai_embedding_request(const Target& target, const EmbeddingPart& part) {
  const EmbeddingRequest& request = part.request;
  WireRequest made;
  Json rest = request.extra;
  rest["model"] = target.model;
  if (request.dimensions) rest[is_mistral(target) ? "output_dimension" : "dimensions"] = *request.dimensions;
  if (target.preset->dialect == Dialect::kOpenai) rest["encoding_format"] = "base64";
  tell_user(target, request, made, rest);
  made.path = "/embeddings";
  made.headers = {{"Content-Type", "application/json"}};
  made.body = schemas::dump(rest);
  made.body.pop_back();
  made.body.append(",\"input\":").append(inputs_of(part)).append("}");
  return made;
}

base::Result<schemas::EmbeddingReply> openai_embedding_reply(const Target& target, std::string_view body,
                                                             std::size_t inputs) {
  std::optional<ReadVectors> read = read_vectors(body, "embedding");
  if (!read) return not_a_reply(target);
  if (auto error = said_instead(target, read->rest)) return *std::move(error);
  const auto data = read->rest.find("data");
  if (data == read->rest.end() || !data->is_array() || data->size() != inputs) return not_a_reply(target);
  auto vectors = rows_of(*data, read->vectors);
  if (!vectors) return not_a_reply(target);
  schemas::EmbeddingReply reply;
  reply.id = text_of(read->rest, "id");
  reply.model = text_of(read->rest, "model");
  reply.vectors = *std::move(vectors);
  if (const Json* said = member(read->rest, "usage"); said != nullptr) {
    const auto usage = openai_usage(*said);
    reply.prompt_tokens = usage ? usage->prompt : 0;
    reply.total_tokens = usage ? usage->total : 0;
  }
  return reply;
}

}  // namespace millrace::providers
