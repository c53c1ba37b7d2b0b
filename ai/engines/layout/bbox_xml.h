#pragma once
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "ai/engines/ocr/pages.h"

namespace millrace::engines {

// Takes the output of `pdftotext -bbox-layout` as it comes, in pieces, and gives one page after the other.
// Knows only the two elements that matter and skips the rest. A page above `kPageBytesMax` or `kWordsMax` is
// cut there.
class BboxReader {
 public:
  static constexpr std::size_t kPageBytesMax = std::size_t{32} << 20;
  static constexpr std::size_t kWordsMax = 100'000;

  void feed(std::string_view piece);
  // The next whole page in what has been fed; its index is not set (pages come in the order they were asked
  // for).
  std::optional<PageText> next();
  // More than kPageBytesMax is waiting for the end of a page.
  bool overflow() const { return buffer_.size() - taken_ > kPageBytesMax; }

 private:
  std::string buffer_;
  std::size_t taken_ = 0;     // bytes of buffer_ already given
  std::size_t searched_ = 0;  // no end of a page before here
};

// The boxes (in points) of whole lines set in bold, from one page of `pdftohtml -xml`.
std::vector<Box> bold_lines(std::string_view page_xml);

// The same for a stream of pages.
class StyleReader {
 public:
  void feed(std::string_view piece) { buffer_ += piece; }
  std::optional<std::vector<Box>> next();
  bool overflow() const { return buffer_.size() > BboxReader::kPageBytesMax; }

 private:
  std::string buffer_;
};

// Marks the words that lie in one of `lines`.
void mark_bold(PageText& page, const std::vector<Box>& lines);

// Fewer characters than a line has: a page number, a stamp. They seldom are all that the page says.
bool short_text(const PageText& page);

// Whether a text layer can be trusted: it has characters, hardly any of them unmapped. However short it is: a
// word that is written down is better than one that is read.
bool sane_text(const PageText& page);

// Appends `xml` with its entities resolved; unmapped or forbidden characters are dropped.
void append_unescaped(std::string& out, std::string_view xml);

}  // namespace millrace::engines
