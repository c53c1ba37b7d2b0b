#include "ai/engines/layout/literal.h"

#include <algorithm>
#include <iterator>
#include <vector>

#include "ai/engines/layout/region.h"

namespace millrace::engines {
namespace {

// Drops soft hyphens and the spaces around lines: four leading spaces begin code, two trailing ones are a
// line break.
std::string tidied_lines(std::string_view text) {
  std::string out;
  const auto end_line = [&out] {
    while (!out.empty() && (out.back() == ' ' || out.back() == '\t')) out.pop_back();
  };
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text.substr(i).starts_with("\u00ad")) {
      ++i;
      continue;
    }
    const bool begins = out.empty() || out.back() == kLineBreak;
    if (begins && (text[i] == ' ' || text[i] == '\t')) continue;
    if (text[i] == kLineBreak) end_line();
    out += text[i];
  }
  end_line();
  return out;
}

// A text, and which of its characters must be escaped.
class Literal {
 public:
  Literal(std::string_view text, Place place)
      : text_(text), place_(place), last_name_(text.rfind("]:")), marked_(text.size()) {
    mark_signs();
    mark_code();
    mark_links();
    if (place == Place::kParagraph || place == Place::kItem || place == Place::kAmongLoose) mark_beginnings();
    for (const char sign : {'*', '_', '~'}) mark_emphasis(sign);
    if (place == Place::kHeading) mark_end_of_heading();
  }

  std::string markdown() const {
    std::string out;
    out.reserve(text_.size() + 8);
    for (std::size_t i = 0; i < text_.size(); ++i) {
      if (marked_[i]) out += '\\';
      if (text_[i] == kLineBreak) out += "  ";
      out += text_[i];
    }
    return out;
  }

 private:
  static constexpr std::size_t kNowhere = std::string_view::npos;

  static bool letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }
  static bool alphanumeric(char c) { return letter(c) || (c >= '0' && c <= '9'); }
  static bool blank(char c) { return c == ' ' || c == kLineBreak; }
  static bool punctuation(char c) { return c > ' ' && c < 0x7F && !alphanumeric(c); }
  static bool is_rule(std::string_view line);
  static bool begins_block(std::string_view line);
  static std::size_t end_of_number(std::string_view line);

  char at(std::size_t i) const { return i < text_.size() ? text_[i] : kLineBreak; }
  char before(std::size_t i) const { return i > 0 ? text_[i - 1] : kLineBreak; }
  std::size_t run_end(std::size_t i) const {
    return std::min(text_.find_first_not_of(text_[i], i), text_.size());
  }
  void mark(std::size_t i) { marked_[i] = true; }
  // A construct that begins in this text may end in another one, and vice versa.
  bool pairs_over_lines() const { return place_ == Place::kLoose || place_ == Place::kAmongLoose; }

  void mark_signs();
  void mark_code();
  void mark_links();
  void mark_emphasis(char sign);
  void mark_beginnings();
  void mark_beginning(std::size_t from, std::string_view line);
  void mark_end_of_heading();
  bool begins_tag(std::size_t i) const;
  bool begins_address(std::size_t i) const;
  bool names_character(std::size_t i) const;
  bool begins_bracket(std::size_t from, std::string_view line) const;

  std::string_view text_;
  Place place_;
  std::size_t last_name_;  // position of the last "]:"
  std::vector<bool> marked_;
};

bool Literal::begins_tag(std::size_t i) const {
  const char next = at(i + 1);
  return letter(next) || next == '/' || next == '!' || next == '?';
}

// <someone@mill.example>; an address that begins with a letter is already escaped as a tag.
bool Literal::begins_address(std::size_t i) const {
  const std::string_view inside = text_.substr(i + 1, text_.substr(i + 1).find_first_of(" <>\n"));
  return at(i + 1 + inside.size()) == '>' && inside.find('@') != kNowhere;
}

// &lt; &#60; &#x3c;
bool Literal::names_character(std::size_t i) const {
  constexpr std::size_t kLongest = 33;  // CounterClockwiseContourIntegral
  std::string_view name = text_.substr(i + 1, kLongest);
  name = name.substr(0, name.find(';'));
  if (at(i + 1 + name.size()) != ';') return false;
  if (name.starts_with('#')) name.remove_prefix(1);
  return !name.empty() && std::all_of(name.begin(), name.end(), alphanumeric);
}

void Literal::mark_signs() {
  for (std::size_t i = 0; (i = text_.find_first_of("\\<&|", i)) != kNowhere; ++i) {
    const char next = at(i + 1);
    const bool meant = text_[i] == '\\'  ? punctuation(next) || next == kLineBreak
                       : text_[i] == '<' ? begins_tag(i) || begins_address(i)
                       : text_[i] == '&' ? names_character(i)
                                         : place_ == Place::kCell;
    if (meant) mark(i);
  }
}

// Code is enclosed by two equal runs of backticks.
void Literal::mark_code() {
  const std::size_t first = text_.find('`');
  if (first == kNowhere) return;
  if (!pairs_over_lines() && text_.find('`', run_end(first)) == kNowhere) return;
  for (std::size_t i = first; i != kNowhere; i = text_.find('`', i + 1)) mark(i);
}

// [text](address) and ![text](address). Reference links have no definition to refer to: see mark_beginning.
void Literal::mark_links() {
  const std::size_t last = text_.rfind("](");
  if (last == kNowhere) return;
  for (std::size_t i = 0; i <= last; ++i) {
    if (text_[i] == '[' || (text_[i] == ']' && at(i + 1) == '(')) mark(i);
  }
}

// Emphasis is between a run of the sign that may open it and a later run that may close it. When the first
// sign of a run is escaped, the rest of the run may do either.
void Literal::mark_emphasis(char sign) {
  struct Run {
    std::size_t from = 0, to = 0;
    bool opens = false, closes = false;
  };
  std::vector<Run> runs;
  for (std::size_t i = 0; (i = text_.find(sign, i)) != kNowhere; i = runs.back().to) {
    const std::size_t end = run_end(i);
    const bool in_word = sign == '_' && alphanumeric(before(i)) && alphanumeric(at(end));
    runs.push_back(
        {i, end, marked_[i] || (!in_word && !blank(at(end))), marked_[i] || (!in_word && !blank(before(i)))});
  }
  auto first = runs.begin();
  auto last = runs.end();
  if (!pairs_over_lines()) {
    first = std::find_if(first, last, [](const Run& run) { return run.opens; });
    while (last != first && !std::prev(last)->closes) --last;
    if (last - first < 2) return;
  }
  for (auto run = first; run != last; ++run) {
    for (std::size_t i = run->from; i < run->to && (run->opens || run->closes); ++i) mark(i);
  }
}

void Literal::mark_beginnings() {
  for (std::size_t from = 0; from <= text_.size();) {
    const std::size_t end = std::min(text_.find(kLineBreak, from), text_.size());
    mark_beginning(from, text_.substr(from, end - from));
    from = end + 1;
  }
}

// Whether the line is only a rule, underlines the line above, or makes the line above a table header.
bool Literal::is_rule(std::string_view line) {
  for (const std::string_view allowed : {"= ", "* ", "_ "}) {
    if (line.find_first_not_of(allowed) == kNowhere) return true;
  }
  return line.find_first_not_of("|:- ") == kNowhere && line.find('-') != kNowhere;
}

bool Literal::begins_block(std::string_view line) {
  for (const std::string_view mark : {"#", ">", "|", "```", "~~~", "+ ", "- ", "* "}) {
    if (line.starts_with(mark)) return true;
  }
  return line == "+" || is_rule(line);
}

// The position of the full stop or bracket after a number that begins a list.
std::size_t Literal::end_of_number(std::string_view line) {
  const std::size_t end = line.find_first_not_of("0123456789");
  if (end == 0 || end == kNowhere || end > 9 || (line[end] != '.' && line[end] != ')')) return kNowhere;
  return end + 1 == line.size() || line[end + 1] == ' ' ? end : kNowhere;
}

// "[x] " of a task, "[name]: " of a link definition or a footnote. The name may continue over lines, and
// therefore over loose items.
bool Literal::begins_bracket(std::size_t from, std::string_view line) const {
  if (!line.starts_with('[')) return false;
  if (place_ == Place::kAmongLoose) return true;
  const bool task = line.size() > 3 && line[2] == ']' && line[3] == ' ';
  return (task && place_ == Place::kItem) || (last_name_ != kNowhere && last_name_ > from);
}

void Literal::mark_beginning(std::size_t from, std::string_view line) {
  if (line.empty()) return;
  if (begins_block(line) || begins_bracket(from, line)) mark(from);
  if (const std::size_t end = end_of_number(line); end != kNowhere) mark(from + end);
}

// "# Title #" has a mark at its end as well.
void Literal::mark_end_of_heading() {
  const std::size_t last = text_.find_last_not_of('#');
  const std::size_t run = last == kNowhere ? 0 : last + 1;
  if (run < text_.size() && blank(before(run))) mark(run);
}

}  // namespace

std::string literal(std::string_view text, Place place) {
  const std::string tidied = tidied_lines(text);
  return Literal(tidied, place).markdown();
}

}  // namespace millrace::engines
