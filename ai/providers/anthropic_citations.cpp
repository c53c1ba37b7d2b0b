#include "ai/providers/anthropic_citations.h"

#include "ai/providers/wire_words.h"
#include "schemas/json_text.h"

namespace millrace::providers {

void AnthropicCitations::begin_block(const Json& block) {
  begin_ = said_;
  pending_.clear();
  const Json* citations = member(block, "citations");
  if (citations == nullptr || !citations->is_array()) return;
  for (const Json& each : *citations) cite(each);
}

void AnthropicCitations::say(std::string_view text) { said_ += schemas::characters(text); }

// Results of a search name their URL, sources that a tool has given theirs; places in a document have none.
void AnthropicCitations::cite(const Json& citation) {
  std::string_view url = text_of(citation, "url");
  if (url.empty()) url = text_of(citation, "source");
  if (!is_citable(url) || pending_.size() >= kCitationsMax) return;
  pending_.emplace_back(url, cut_text(text_of(citation, "title"), kCitedTitleMax));
}

void AnthropicCitations::end_block() {
  for (const auto& [url, title] : pending_) told_.add(begin_, said_, url, title);
  pending_.clear();
}

}  // namespace millrace::providers
