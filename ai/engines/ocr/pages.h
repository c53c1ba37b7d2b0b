#pragma once
#include <algorithm>
#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "ai/engines/pool/engine_end.h"
#include "platform/base/result.h"
#include "schemas/media/document_type.h"
#include "schemas/media/ocr.h"

namespace millrace::engines {

// The box of a word begins at most this far from the page's corner, in either direction.
inline constexpr float kFarthest = 1e9F;

// In the units of the page (points for a text layer, pixels for a scan); y grows downwards.
struct Box {
  float x0 = 0, y0 = 0, x1 = 0, y1 = 0;
  float width() const { return x1 - x0; }
  float height() const { return y1 - y0; }
  float middle_x() const { return (x0 + x1) / 2; }
  float middle_y() const { return (y0 + y1) / 2; }
};

// The smallest box around both.
inline Box united(const Box& a, const Box& b) {
  return {std::min(a.x0, b.x0), std::min(a.y0, b.y0), std::max(a.x1, b.x1), std::max(a.y1, b.y1)};
}

// Orientation of a word on the page: upright, read upwards, read downwards, upside down.
enum class Orientation : std::uint8_t { kNone, kUp, kDown, kOver };

// One word, or a picture at its position in the reading order (then `text` is its markdown).
struct Word {
  Box box;  // the height is that of the row's letters (ascent to descent), not of this word's ink
  std::string text;
  bool bold = false;
  bool figure = false;
  bool leftwards = false;  // contains right-to-left letters; `text` is in logical order
  Orientation turn = Orientation::kNone;
  float confidence = 100;  // of the recogniser, 0 to 100
  int line = 0;            // of a text layer: the words of a line have the same number
};

// The words of a page from a text layer or from the recogniser. The order of `words` does not matter.
struct PageText {
  int index = 0;  // in the document, from 0
  float width = 0, height = 0;
  float letters = 0;        // height of its body letters; 0: derive it from the words
  bool recognised = false;  // by OCR: bullets may be misread, bold words are not known
  std::vector<Word> words;
  std::vector<schemas::PageWarning> warnings = {};
  int quarter_turns = 0;  // clockwise, by which the page was turned because most of its words run that way
};

// Result of inspecting a document inside the jail.
struct DocumentInfo {
  schemas::Media media = schemas::Media::kPdf;
  int pages = 0;
};

// A picture on a page; the box is in pixels of `PageOutcome::dimensions`.
struct PageImage {
  std::string id;  // unique in the document; the markdown names it as ![id](id)
  int x0 = 0, y0 = 0, x1 = 0, y1 = 0;
  std::string data_uri;  // data:image/jpeg;base64,…; empty unless requested
};

struct PageDimensions {
  int dpi = 0;
  int height = 0;  // pixels at `dpi`
  int width = 0;
};

inline constexpr std::size_t kPageWarningsMax = 16;

// One page, done or failed. A failed page has an error (kPageTimeout, kPageFailed) and nothing else.
struct PageOutcome {
  int index = 0;  // from 0, in the document
  std::string markdown;
  std::vector<PageImage> images;
  std::optional<PageDimensions> dimensions;
  std::vector<schemas::PageWarning> warnings;  // at most kPageWarningsMax
  std::optional<base::Error> error;
  std::chrono::milliseconds cpu{0};  // processor time since the last page
};

struct RecogniseOptions {
  bool image_data = false;  // fill PageImage::data_uri
};

}  // namespace millrace::engines
