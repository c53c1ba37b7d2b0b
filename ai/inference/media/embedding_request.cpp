#include "ai/inference/media/embedding_request.h"

#include <algorithm>
#include <utility>

#include "ai/providers/mock/media.h"
#include "ai/providers/wire_text.h"
#include "platform/base/crypto.h"
#include "platform/base/ids.h"

namespace millrace::inference {
namespace {

using providers::Target;
using schemas::Refusal;

constexpr std::size_t kEmbeddingIdBytes = 12;
constexpr std::int64_t kAddedPerInput = 32;  // tokens; some models are given an instruction with each input
constexpr std::string_view kAda = "text-embedding-ada-002";

std::string_view bare(std::string_view model) { return model.substr(model.rfind('/') + 1); }

Refusal wrong(std::string field, std::string message) {
  schemas::FieldProblem problem{.loc = {"body", std::move(field)},
                                .msg = std::move(message),
                                .type = "value_error",
                                .input = {},
                                .ctx = {}};
  return schemas::invalid({std::move(problem)});
}

// Vectors are compared with each other, so all must have one length.
base::Status check_lengths(const Target& target, const std::vector<schemas::Vector>& vectors,
                           std::optional<int> dimensions) {
  if (vectors.empty()) return {};
  const auto length = dimensions ? static_cast<std::size_t>(*dimensions) : vectors.front().size();
  const auto other = std::ranges::find_if(vectors, [&](const auto& each) { return each.size() != length; });
  if (other == vectors.end()) return {};
  base::Error error =
      providers::content_fault(target, "sent a vector of " + std::to_string(other->size()) +
                                           " dimensions instead of " + std::to_string(length));
  if (dimensions) error.param = "dimensions";
  error.is_permanent = true;
  return error;
}

}  // namespace

bool EmbeddingMediaRequest::is_large() const {
  return request_->inputs() > kSmallInputs || request_->input_tokens > kSmallTokens;
}

std::optional<Refusal> EmbeddingMediaRequest::refusal(const ModelRow& row) const {
  const Target& target = row.target;
  if (auto none = providers::no_embeddings(target)) return Refusal{*std::move(none), {}};
  if (!request_->tokens.empty() && !providers::supports_token_input(target))
    return wrong("input",
                 "Provider " + std::string(target.preset->name) + " accepts texts, not lists of tokens");
  if (!request_->dimensions) return std::nullopt;
  if (bare(target.model) == kAda)
    return wrong("dimensions", "text-embedding-ada-002 does not support other dimensions");
  const bool of_mock = target.preset->family == providers::Family::kMock;
  if (of_mock && *request_->dimensions > providers::kMockDimensionsMax)
    return wrong("dimensions", "Model " + target.name + " has at most 4096 dimensions");
  return std::nullopt;
}

std::size_t EmbeddingMediaRequest::begin(const Target& target) {
  batch_ = providers::embedding_batch_max(target);
  const std::size_t calls = (request_->inputs() + batch_ - 1) / batch_;
  replies_.assign(calls, {});
  return calls;
}

providers::EmbeddingPart EmbeddingMediaRequest::slice(std::size_t part) const {
  const std::size_t first = part * batch_;
  return {*request_, first, std::min(batch_, request_->inputs() - first)};
}

std::int64_t EmbeddingMediaRequest::tokens(std::size_t part) const {
  const auto inputs = static_cast<std::int64_t>(request_->inputs());
  const auto count = static_cast<std::int64_t>(slice(part).count);
  return count == inputs ? request_->input_tokens : request_->input_tokens * count / inputs;
}

base::Result<providers::WireRequest> EmbeddingMediaRequest::write(const Target& target, std::size_t part) {
  return providers::embedding_request(target, slice(part));
}

base::Status EmbeddingMediaRequest::read(const Target& target, std::size_t part, const std::string& body) {
  auto reply = providers::embedding_reply(target, body, slice(part).count);
  if (!reply) return reply.error();
  if (base::Status fits = check_lengths(target, reply->vectors, request_->dimensions); !fits) return fits;
  replies_[part] = *std::move(reply);
  return {};
}

base::Status EmbeddingMediaRequest::mock(const Target& target, std::size_t part) {
  replies_[part] = providers::mock_embedding(target, slice(part));
  return {};
}

// A token has at least one byte; providers add tokens to each input.
Use EmbeddingMediaRequest::most(const Target&, std::size_t part) const {
  const providers::EmbeddingPart inputs = slice(part);
  Use most;
  for (std::size_t i = inputs.first; i < inputs.first + inputs.count; ++i) {
    const std::size_t size = request_->texts.empty() ? request_->tokens[i].size() : request_->texts[i].size();
    most.usage.prompt += static_cast<std::int64_t>(size) + kAddedPerInput;
  }
  return most;
}

schemas::ChatUsage EmbeddingMediaRequest::usage(std::size_t part) const {
  const schemas::EmbeddingReply& reply = replies_[part];
  schemas::ChatUsage usage;
  usage.estimated = reply.prompt_tokens == 0;
  usage.prompt = usage.estimated ? tokens(part) : reply.prompt_tokens;
  usage.total = std::max(usage.prompt, reply.total_tokens);
  return usage;
}

void EmbeddingMediaRequest::on_end(base::Result<MediaResult> end) {
  if (!end) return done_(std::move(end.error()));
  EmbeddingResult result;
  static_cast<MediaResult&>(result) = *std::move(end);
  for (std::size_t part = 0; part < replies_.size(); ++part) {
    const schemas::ChatUsage used = usage(part);
    result.reply.prompt_tokens += used.prompt;
    result.reply.total_tokens += used.total;
    std::move(replies_[part].vectors.begin(), replies_[part].vectors.end(),
              std::back_inserter(result.reply.vectors));
  }
  const auto& vectors = result.reply.vectors;
  const bool one_length = std::ranges::all_of(
      vectors, [&](const auto& vector) { return vector.size() == vectors.front().size(); });
  if (!one_length)
    return done_(base::error(base::Code::kUpstream,
                             "the provider sent vectors of different lengths for the parts of the request"));
  const schemas::EmbeddingReply& first = replies_.front();
  result.reply.model = result.head.model;
  result.reply.id = first.id.empty() ? "embd-" + base::hex(base::random_bytes(kEmbeddingIdBytes)) : first.id;
  done_(std::move(result));
}

}  // namespace millrace::inference
