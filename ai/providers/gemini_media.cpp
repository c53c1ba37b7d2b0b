#include "ai/providers/gemini_media.h"

#include <algorithm>
#include <utility>

#include "ai/providers/gemini_candidate.h"
#include "ai/providers/gemini_request.h"
#include "ai/providers/vector_reader.h"
#include "ai/providers/wire_words.h"
#include "schemas/json_body.h"

namespace millrace::providers {

using schemas::DroppedParam;
using schemas::EmbeddingReply;

WireRequest gemini_embedding_request(const Target& target, const EmbeddingPart& part) {
  const schemas::EmbeddingRequest& request = part.request;
  const std::string model = gemini_model_path(target.model);
  Json requests = Json::array();
  for (std::size_t i = part.first; i < part.first + part.count; ++i) {
    Json one = {{"model", model}, {"content", {{"parts", {{{"text", request.texts[i]}}}}}}};
    if (request.dimensions) one["outputDimensionality"] = *request.dimensions;
    requests.push_back(std::move(one));
  }
  WireRequest made;
  made.path = versioned_path(target.base_url, "/v1beta", "/" + model + ":batchEmbedContents");
  made.headers = {{"Content-Type", "application/json"}};
  made.body = schemas::dump(Json{{"requests", std::move(requests)}});
  if (!request.user.empty()) made.dropped.push_back({"user", DroppedParam::How::kDropped});
  for (const auto& [name, ignored] : request.extra.items())
    made.dropped.push_back({name, DroppedParam::How::kDropped});
  return made;
}

base::Result<EmbeddingReply> gemini_embedding_reply(const Target& target, std::string_view body,
                                                    std::size_t inputs) {
  std::optional<ReadVectors> read = read_vectors(body, "values");
  if (!read) return not_a_reply(target);
  if (const Json* error = gemini_error_of(read->rest); error != nullptr) return gemini_error(target, *error);
  const bool each_has_one =
      read->vectors.size() == inputs && std::none_of(read->vectors.begin(), read->vectors.end(),
                                                     [](const schemas::Vector& one) { return one.empty(); });
  if (!each_has_one) return not_a_reply(target);
  EmbeddingReply reply;
  reply.vectors = std::move(read->vectors);
  const Json* usage = member(read->rest, "usageMetadata");
  reply.prompt_tokens = std::max<std::int64_t>(integer_of(member(usage, "promptTokenCount")).value_or(0), 0);
  reply.total_tokens = reply.prompt_tokens;
  return reply;
}

}  // namespace millrace::providers
