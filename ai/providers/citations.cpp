#include "ai/providers/citations.h"

#include <utility>

#include "ai/providers/wire_words.h"

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

void Citations::tell(Json& extra) {
  if (fresh_.empty()) return;
  if (!extra.is_object()) extra = Json::object();
  extra["annotations"] = std::exchange(fresh_, Json::array());
}

}  // namespace millrace::providers
