#pragma once
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "ai/engines/ocr/pages.h"

namespace millrace::engines {

// Incremental parser for the output of `pdftotext -bbox-layout`; returns one page after the other. Parses
// only the two relevant elements and skips the rest. A page above `kPageBytesMax` or `kWordsMax` is truncated
// there.
class BboxReader {
 public:
  static constexpr std::size_t kPageBytesMax = std::size_t{32} << 20;
  static constexpr std::size_t kWordsMax = 100'000;

  void feed(std::string_view piece);
  // The next complete page of the input so far. Its index is not set; pages arrive in the order of the run.
  std::optional<PageText> next();
  // More than kPageBytesMax of an incomplete page is buffered.
  bool overflow() const { return buffer_.size() - taken_ > kPageBytesMax; }

 private:
  std::string buffer_;
  std::size_t taken_ = 0;     // bytes of buffer_ already consumed
  std::size_t searched_ = 0;  // no end of a page before this offset
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

// Marks the words that are inside one of `lines`.
void mark_bold(PageText& page, const std::vector<Box>& lines);

// Whether the page has fewer characters than a line, such as a page number or a stamp. Such text is seldom
// the whole content of a page.
bool short_text(const PageText& page);

// Appends `xml` with its entities resolved. A control character becomes a space; what is no character is
// dropped.
void append_unescaped(std::string& out, std::string_view xml);

}  // namespace millrace::engines
