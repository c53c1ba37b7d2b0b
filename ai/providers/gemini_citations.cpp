#include "ai/providers/gemini_citations.h"

#include <algorithm>
#include <array>

#include "ai/providers/wire_words.h"

namespace millrace::providers {
namespace {

// The source of a chunk: of the web, of what was retrieved, of a map.
const Json* source_of(const Json& chunk) {
  constexpr std::array<std::string_view, 3> kKinds{"web", "retrievedContext", "maps"};
  for (const std::string_view kind : kKinds) {
    if (const Json* source = member(chunk, kind); source != nullptr) return source;
  }
  return nullptr;
}

std::size_t place_of(const Json& segment, std::string_view name) {
  return static_cast<std::size_t>(std::max<std::int64_t>(integer_of(segment, name).value_or(0), 0));
}

const Json* list_of(const Json* object, std::string_view name) {
  const Json* list = member(object, name);
  return list != nullptr && list->is_array() ? list : nullptr;
}

}  // namespace

void GeminiCitations::begin_part() {
  if (events_ == 1) parts_.push_back(text_.bytes());
}

void GeminiCitations::keep(const Json& segment, std::string_view url, std::string_view title) {
  if (segments_.size() >= kCitationsMax || !is_citable(url)) return;
  segments_.push_back({place_of(segment, "partIndex"), place_of(segment, "startIndex"),
                       place_of(segment, "endIndex"), std::string(url),
                       std::string(cut_text(title, kCitedTitleMax))});
}

void GeminiCitations::take_support(const Json& support, const Json& chunks) {
  const Json* segment = member(support, "segment");
  const Json* indices = list_of(&support, "groundingChunkIndices");
  if (segment == nullptr || indices == nullptr) return;
  for (const Json& each : *indices) {
    const auto index = integer_of(&each).value_or(-1);
    if (index < 0 || index >= static_cast<std::int64_t>(chunks.size())) continue;
    const Json* source = source_of(chunks[static_cast<std::size_t>(index)]);
    if (source != nullptr) keep(*segment, text_of(*source, "uri"), text_of(*source, "title"));
  }
}

// Texts of others that were recited.
void GeminiCitations::take_sources(const Json* sources) {
  if (sources == nullptr) return;
  for (const Json& each : *sources) keep(each, text_of(each, "uri"), text_of(each, "title"));
}

void GeminiCitations::take(const Json& candidate) {
  const Json* grounding = member(candidate, "groundingMetadata");
  const Json* chunks = list_of(grounding, "groundingChunks");
  const Json* supports = list_of(grounding, "groundingSupports");
  if (chunks != nullptr && supports != nullptr) {
    for (const Json& support : *supports) take_support(support, *chunks);
  }
  take_sources(list_of(member(candidate, "citationMetadata"), "citationSources"));
  if (!text_of(candidate, "finishReason").empty()) settle(chunks);
}

// Sources that support no single segment are those of the whole answer.
void GeminiCitations::settle(const Json* chunks) {
  for (const Segment& each : segments_) {
    const std::size_t base = events_ == 1 && each.part < parts_.size() ? parts_[each.part] : 0;
    const std::size_t begin = text_.characters_before(base + each.begin);
    told_.add(begin, std::max(begin, text_.characters_before(base + each.end)), each.url, each.title);
  }
  segments_.clear();
  if (chunks == nullptr || !told_.empty()) return;
  for (const Json& chunk : *chunks) {
    const Json* source = source_of(chunk);
    if (source != nullptr)
      told_.add(0, text_.characters(), text_of(*source, "uri"), text_of(*source, "title"));
  }
}

}  // namespace millrace::providers
