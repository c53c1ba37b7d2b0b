#include "app/cli/batch/page_join.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <map>
#include <string_view>
#include <utility>

#include <nlohmann/json.hpp>

#include "app/cli/json_cells.h"

namespace millrace::cli {
namespace {

constexpr std::size_t kPagesMin = 3;  // with the same line
constexpr int kLinesMax = 3;          // removed from each end of a page
constexpr std::size_t kLineBytesMax = 200;
constexpr std::size_t kLettersMin = 2;
constexpr std::size_t kNumbersMax = 4;  // of a line
constexpr std::string_view kBlank = " \t\n";
// The beginnings of headings, tables, images, quotes, code and lists.
constexpr std::array<std::string_view, 8> kBlocks{"#", "|", "![", ">", "```", "- ", "* ", "+ "};

// Lines that only count the pages, in lower case, without blanks and with each number as 0.
constexpr std::array<std::string_view, 12> kPageForms{"page0", "page0of0", "page0/0", "p.0", "0of0", "0/0",
                                                      "-0-",   "–0–",      "—0—",     "[0]", "(0)",  "0"};
constexpr std::string_view kPageWord = "page 0";

bool is_digit(char c) { return c >= '0' && c <= '9'; }
// Also a byte of a character that is not ASCII.
bool is_letter(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || static_cast<unsigned char>(c) >= 0x80;
}

std::string_view trimmed(std::string_view text) {
  const std::size_t first = text.find_first_not_of(kBlank);
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(kBlank) - first + 1);
}

enum class End : std::uint8_t { kFirst, kLast };

// The first or the last paragraph of the text.
std::string_view paragraph_at(std::string_view text, End end) {
  text = trimmed(text);
  if (end == End::kFirst) return text.substr(0, text.find("\n\n"));
  const std::size_t gap = text.rfind("\n\n");
  return gap == std::string_view::npos ? text : text.substr(gap + 2);
}

// A number with two decimals, such as "1,234.00".
bool has_amount(std::string_view line) {
  for (std::size_t at = 0; at < line.size();) {
    if (!is_digit(line[at])) {
      ++at;
      continue;
    }
    const std::size_t first = at;
    while (at < line.size() && (is_digit(line[at]) || line[at] == '.' || line[at] == ',')) ++at;
    std::string_view number = line.substr(first, at - first);
    while (!is_digit(number.back())) number.remove_suffix(1);
    const std::size_t point = number.find_last_of(".,");
    if (point != std::string_view::npos && number.size() - point == 3) return true;
  }
  return false;
}

// Such as "Signature: ____".
bool has_blank(std::string_view line) {
  return line.find("__") != std::string_view::npos || line.find("\\_") != std::string_view::npos ||
         line.find("....") != std::string_view::npos;
}

// A line without its numbers, and these.
struct MaskedLine {
  std::string text;
  std::vector<std::int64_t> numbers;
};

MaskedLine masked(std::string_view line) {
  constexpr std::int64_t kNumberMax = 1'000'000'000'000;
  MaskedLine out;
  for (std::size_t at = 0; at < line.size(); ++at) {
    if (!is_digit(line[at])) {
      out.text += line[at];
      continue;
    }
    std::int64_t number = 0;
    for (; at < line.size() && is_digit(line[at]); ++at)
      number = std::min(number * 10 + (line[at] - '0'), kNumberMax);
    --at;
    out.text += '0';
    out.numbers.push_back(number);
  }
  return out;
}

std::string lower(std::string_view text) {
  std::string out(text);
  for (char& c : out) c = c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  return out;
}

bool is_page_form(std::string_view masked_line) {
  std::string text = lower(masked_line);
  std::erase(text, ' ');
  return std::ranges::find(kPageForms, text) != kPageForms.end();
}

// It has the word "page" with a number.
bool names_page(std::string_view masked_line) {
  const std::string text = lower(masked_line);
  const std::size_t at = text.find(kPageWord);
  return at != std::string::npos && (at == 0 || !is_letter(text[at - 1]));
}

bool may_run(std::string_view line) {
  if (line.size() > kLineBytesMax || line.find('\n') != std::string_view::npos) return false;
  if (is_page_form(masked(line).text)) return true;
  if (std::ranges::any_of(kBlocks, [line](std::string_view start) { return line.starts_with(start); }))
    return false;
  const bool has_word = static_cast<std::size_t>(std::ranges::count_if(line, is_letter)) >= kLettersMin;
  return has_word && !has_amount(line) && !has_blank(line);
}

// A line at one end of a page.
struct EndLine {
  std::size_t page;  // in the list
  std::string_view line;
  std::vector<std::int64_t> numbers;
};

// What all pages with the same running line have in common. The numbers in the set `counting` (bits) count
// the pages, the others are constant.
std::vector<std::int64_t> offsets(const EndLine& line, int index, unsigned counting) {
  std::vector<std::int64_t> out = line.numbers;
  for (std::size_t i = 0; i < out.size(); ++i) out[i] -= ((counting >> i) & 1u) != 0 ? index : 0;
  return out;
}

// More than half of all pages have one of the lines, or more than half of the left or of the right pages.
bool on_most(const std::vector<EndLine>& lines, std::size_t pages) {
  if (2 * lines.size() > pages) return true;
  const std::size_t side = lines.front().page % 2;
  const bool one_side =
      std::ranges::all_of(lines, [side](const EndLine& each) { return each.page % 2 == side; });
  return one_side && 2 * lines.size() > (pages + 1 - side) / 2;
}

// The lines among `same` that run through the pages. `text`: of all of them, without their numbers.
std::map<std::size_t, std::string_view> running(const std::string& text, const std::vector<EndLine>& same,
                                                const std::vector<DocumentPage>& pages) {
  std::map<std::size_t, std::string_view> out;  // by page
  const std::size_t numbers = same.front().numbers.size();
  const bool form = is_page_form(text), names = names_page(text);
  if (same.size() < kPagesMin || numbers > kNumbersMax) return out;
  for (unsigned counting = 0; counting < 1u << numbers; ++counting) {
    if (counting == 0 ? form : !form && !names) continue;
    std::map<std::vector<std::int64_t>, std::vector<EndLine>> groups;
    for (const EndLine& each : same) groups[offsets(each, pages[each.page].index, counting)].push_back(each);
    for (const auto& [numbers_of, group] : groups) {
      if (group.size() < kPagesMin || (!form && !on_most(group, pages.size()))) continue;
      for (const EndLine& each : group) out.emplace(each.page, each.line);
    }
  }
  return out;
}

void drop(std::string& markdown, std::string_view line, End end) {
  const auto first = static_cast<std::size_t>(line.data() - markdown.data());
  std::string rest = end == End::kFirst ? markdown.substr(first + line.size()) : markdown.substr(0, first);
  markdown = trimmed(rest);
}

// False: no line was dropped.
bool drop_one(std::vector<DocumentPage>& pages, End end) {
  std::map<std::string, std::vector<EndLine>> lines;
  for (std::size_t i = 0; i < pages.size(); ++i) {
    const std::string_view line = paragraph_at(pages[i].markdown, end);
    if (!may_run(line) || line.size() == trimmed(pages[i].markdown).size()) continue;
    MaskedLine key = masked(line);
    lines[std::move(key.text)].push_back({i, line, std::move(key.numbers)});
  }
  bool dropped = false;
  for (const auto& [text, same] : lines) {
    for (const auto& [page, line] : running(text, same, pages)) {
      drop(pages[page].markdown, line, end);
      dropped = true;
    }
  }
  return dropped;
}

constexpr std::size_t kTableIdMax = 256;  // bytes of a reference to a table

using PageTables = std::vector<std::pair<std::string, std::string>>;  // id and content, in order

PageTables tables_of(const nlohmann::json& page) {
  PageTables tables;
  const auto listed = page.find("tables");
  if (listed == page.end() || !listed->is_array()) return tables;
  for (const auto& table : *listed) {
    std::string id = text_at(table, "id"), content = text_at(table, "content");
    if (!id.empty() && !content.empty()) tables.emplace_back(std::move(id), std::move(content));
  }
  return tables;
}

std::string with_tables(const nlohmann::json& page) {
  const std::string markdown = text_at(page, "markdown");
  PageTables tables = tables_of(page);
  if (tables.empty()) return markdown;
  std::string text;
  for (std::size_t at = 0; at < markdown.size();) {
    const std::string_view begin = std::string_view(markdown).substr(at, kTableIdMax);
    const std::size_t end = begin.starts_with('[') ? begin.find(']') : std::string_view::npos;
    const std::string id(end == std::string_view::npos ? "" : begin.substr(1, end - 1));
    const auto table = std::ranges::find(tables, id, &PageTables::value_type::first);
    if (table == tables.end()) {
      text += markdown[at++];
      continue;
    }
    text += table->second;
    tables.erase(table);
    const std::string target = "(" + id + ")";
    at += end + 1;
    if (markdown.compare(at, target.size(), target) == 0) at += target.size();
  }
  for (const auto& [id, content] : tables) text.append(text.empty() ? "" : "\n\n").append(content);
  return text;
}

}  // namespace

std::vector<DocumentPage> pages_of(const nlohmann::json& result) {
  std::vector<DocumentPage> pages;
  for (const auto& page : result.value("pages", nlohmann::json::array()))
    pages.push_back({page.value("index", static_cast<int>(pages.size())), with_tables(page)});
  return pages;
}

void drop_running_lines(std::vector<DocumentPage>& pages) {
  for (const End end : {End::kFirst, End::kLast}) {
    for (int line = 0; line < kLinesMax && drop_one(pages, end); ++line) continue;
  }
}

std::string joined_pages(std::vector<DocumentPage> pages, const PageJoin& join) {
  if (!join.keep_running_lines) drop_running_lines(pages);
  const bool has_text =
      std::ranges::any_of(pages, [](const DocumentPage& page) { return !page.markdown.empty(); });
  if (!has_text) return {};
  std::string text;
  const auto add = [&text](std::string_view part) {
    if (!text.empty() && !part.empty()) text += "\n\n";
    text += part;
  };
  for (const DocumentPage& page : pages) {
    if (join.page_marks && page.index > 0) add("<!-- page " + std::to_string(page.index + 1) + " -->");
    add(page.markdown);
  }
  return text.back() == '\n' ? text : text + "\n";
}

}  // namespace millrace::cli
