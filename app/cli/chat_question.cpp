#include "app/cli/chat_question.h"

#include <utility>

namespace millrace::cli {
namespace {

constexpr std::string_view kQuote = R"(""")";

// Two of them are one that is meant.
bool ends_with_backslash(std::string_view line) {
  const std::size_t last = line.find_last_not_of('\\');
  const std::size_t count = line.size() - (last == std::string_view::npos ? 0 : last + 1);
  return count % 2 == 1;
}

}  // namespace

bool ChatQuestion::add(std::string_view line) {
  if (!open_ && line.starts_with(kQuote)) {
    quoted_ = true;
    line.remove_prefix(kQuote.size());
    if (line.empty()) return open_ = true, false;
  }
  if (quoted_) return add_quoted(line);
  open_ = ends_with_backslash(line);
  if (open_) line.remove_suffix(1);
  text_.append(line);
  if (open_) text_ += '\n';
  return !open_;
}

bool ChatQuestion::add_quoted(std::string_view line) {
  open_ = !line.ends_with(kQuote);
  if (!open_) line.remove_suffix(kQuote.size());
  text_.append(line);
  if (open_) text_ += '\n';
  return !open_;
}

std::string ChatQuestion::take() {
  open_ = quoted_ = false;
  std::string text = std::exchange(text_, {});
  while (text.ends_with('\n')) text.pop_back();
  return text;
}

}  // namespace millrace::cli
