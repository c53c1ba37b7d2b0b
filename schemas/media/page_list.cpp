#include "schemas/media/page_list.h"

#include <algorithm>
#include <charconv>

namespace millrace::schemas {
namespace {

std::string_view trimmed(std::string_view text) {
  while (!text.empty() && text.front() == ' ') text.remove_prefix(1);
  while (!text.empty() && text.back() == ' ') text.remove_suffix(1);
  return text;
}

std::optional<int> page_number(std::string_view text) {
  text = trimmed(text);
  int number = 0;
  const auto [end, failed] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (failed != std::errc() || end != text.data() + text.size()) return std::nullopt;
  if (text.empty() || text.front() == '-' || number >= kDocumentPagesMax) return std::nullopt;
  return number;
}

bool add_range(std::string_view text, PageList& pages) {
  const std::size_t dash = text.find('-');
  const auto first = page_number(text.substr(0, dash));
  const auto last = dash == std::string_view::npos ? first : page_number(text.substr(dash + 1));
  if (!first || !last || *last < *first) return false;
  for (int page = *first; page <= *last; ++page) pages.push_back(page);
  return pages.size() <= std::size_t{kDocumentPagesMax} * 4;
}

}  // namespace

std::optional<PageList> parse_pages(std::string_view text) {
  PageList pages;
  while (true) {
    const std::size_t comma = text.find(',');
    if (!add_range(text.substr(0, comma), pages)) return std::nullopt;
    if (comma == std::string_view::npos) break;
    text.remove_prefix(comma + 1);
  }
  normalise(pages);
  return pages;
}

void normalise(PageList& pages) {
  std::sort(pages.begin(), pages.end());
  pages.erase(std::unique(pages.begin(), pages.end()), pages.end());
}

}  // namespace millrace::schemas
