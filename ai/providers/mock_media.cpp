#include "ai/providers/mock_media.h"

#include <algorithm>
#include <cmath>

#include "schemas/chat_reply.h"

namespace millrace::providers {
namespace {

constexpr std::uint64_t kFnvStart = 0xcbf29ce484222325U, kFnvPrime = 0x100000001b3U;

std::uint64_t seed_of(std::string_view bytes) {
  std::uint64_t hash = kFnvStart;
  for (const char byte : bytes) hash = (hash ^ static_cast<unsigned char>(byte)) * kFnvPrime;
  return hash;
}

std::uint64_t seed_of(const std::vector<std::int32_t>& tokens) {
  std::uint64_t hash = kFnvStart;
  for (const std::int32_t token : tokens) hash = (hash ^ static_cast<std::uint32_t>(token)) * kFnvPrime;
  return hash;
}

// splitmix64: the next number of a sequence that `state` is in.
std::uint64_t next(std::uint64_t& state) {
  std::uint64_t mixed = state += 0x9e3779b97f4a7c15U;
  mixed = (mixed ^ mixed >> 30U) * 0xbf58476d1ce4e5b9U;
  mixed = (mixed ^ mixed >> 27U) * 0x94d049bb133111ebU;
  return mixed ^ mixed >> 31U;
}

schemas::Vector unit_vector(std::uint64_t seed, int dimensions) {
  constexpr double kHalf = 9007199254740992.0 / 2;  // of the 53 bits that a double has
  std::vector<double> wide(static_cast<std::size_t>(dimensions));
  double squares = 0;
  for (double& each : wide) {
    each = (static_cast<double>(next(seed) >> 11U) - kHalf) / kHalf;
    squares += each * each;
  }
  const double length = std::max(std::sqrt(squares), 1e-9);
  schemas::Vector out;
  out.reserve(wide.size());
  for (const double each : wide) out.push_back(static_cast<float>(each / length));
  return out;
}

}  // namespace

schemas::EmbeddingReply mock_embedding(const Target& target, const EmbeddingPart& part) {
  const schemas::EmbeddingRequest& request = part.request;
  const int dimensions = std::min(request.dimensions.value_or(kMockDimensions), kMockDimensionsMax);
  schemas::EmbeddingReply reply;
  reply.model = target.name;
  for (std::size_t i = part.first; i < part.first + part.count; ++i) {
    const bool text = !request.texts.empty();
    reply.vectors.push_back(
        unit_vector(text ? seed_of(request.texts[i]) : seed_of(request.tokens[i]), dimensions));
    reply.prompt_tokens += text ? schemas::estimated_tokens(request.texts[i])
                                : static_cast<std::int64_t>(request.tokens[i].size());
  }
  reply.total_tokens = reply.prompt_tokens;
  return reply;
}

}  // namespace millrace::providers
