#include "ai/providers/citations.h"

#include <algorithm>
#include <utility>

#include "ai/providers/wire_text.h"

namespace millrace::providers {

bool is_citable(std::string_view url) {
  return url.size() <= kCitedUrlMax && (url.starts_with("https://") || url.starts_with("http://"));
}

void Citations::add(std::size_t begin, std::size_t end, std::string_view url, std::string_view title) {
  if (!is_citable(url)) return;
  if (known_.size() >= kCitationsMax || !known_.emplace(begin, end, url).second) return;
  Json cited = {{"start_index", begin},
                {"end_index", end},
                {"url", url},
                {"title", title.empty() ? url : cut_text(title, kCitedTitleMax)}};
  fresh_.push_back({{"type", "url_citation"}, {"url_citation", std::move(cited)}});
}

void Citations::add_to(Json& extra) {
  if (fresh_.empty()) return;
  if (!extra.is_object()) extra = Json::object();
  extra["annotations"] = std::exchange(fresh_, Json::array());
}

void move_citations(Json& extra, std::size_t characters) {
  constexpr std::array<const char*, 2> kOffsetMembers{"start_index", "end_index"};
  if (characters == 0 || !extra.is_object()) return;
  const auto annotations = extra.find("annotations");
  if (annotations == extra.end() || !annotations->is_array()) return;
  for (Json& each : *annotations) {
    if (!each.is_object() || !each.contains("url_citation") || !each["url_citation"].is_object()) continue;
    Json& cited = each["url_citation"];
    for (const char* const member : kOffsetMembers) {
      const auto at = cited.find(member);
      if (at == cited.end() || !at->is_number_integer() || *at < 0) continue;
      *at = at->get<std::size_t>() + characters;
    }
  }
}

void CharacterIndex::add(std::string_view text) {
  for (const char byte : text) {
    if (begins_.size() % kStride == 0) before_.push_back(characters_);
    const bool begins = (static_cast<unsigned char>(byte) & 0xC0U) != 0x80U;
    begins_.push_back(begins);
    if (begins) ++characters_;
  }
}

std::size_t CharacterIndex::characters_before(std::size_t byte) const {
  if (byte >= begins_.size()) return characters_;
  const std::size_t stride = byte / kStride;
  const auto from = begins_.begin() + static_cast<std::ptrdiff_t>(stride * kStride);
  const auto to = begins_.begin() + static_cast<std::ptrdiff_t>(byte);
  return before_[stride] + static_cast<std::size_t>(std::count(from, to, true));
}

}  // namespace millrace::providers
