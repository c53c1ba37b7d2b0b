#pragma once
#include <string>
#include <vector>

#include "ai/engines/layout/layout.h"

namespace millrace::engines {

inline constexpr float kPitch = 13;
inline constexpr float kLetters = 10;
inline constexpr float kCharacter = 5;  // width of a character and of a space

// A page of 600 × 800 points. Tests add lines to it word by word.
class Sheet {
 public:
  explicit Sheet(bool recognised = false) {
    page_.width = 600;
    page_.height = 800;
    page_.recognised = recognised;
    page_.index = 1;
  }
  Sheet& first_page() {
    page_.index = 0;
    return *this;
  }
  // Adds the words of `text`, starting at (x, y). Returns the sheet.
  Sheet& put(float x, float y, const std::string& text, bool bold = false, float size = 1) {
    std::size_t at = 0;
    while (at < text.size()) {
      const std::size_t end = std::min(text.find(' ', at), text.size());
      const std::string word = text.substr(at, end - at);
      const float width = kCharacter * size * static_cast<float>(word.size());
      if (!word.empty()) page_.words.push_back({{x, y, x + width, y + kLetters * size}, word, bold, false});
      x += width + kCharacter * size;
      at = end + 1;
    }
    return *this;
  }
  // Adds lines that are one pitch apart.
  Sheet& lines(float x, float y, const std::vector<std::string>& texts) {
    for (const std::string& text : texts) {
      put(x, y, text);
      y += kPitch;
    }
    return *this;
  }
  Sheet& figure(const Box& box, const std::string& text) {
    page_.words.push_back({box, text, false, true});
    return *this;
  }
  Sheet& box(const Box& box, const std::string& text) {
    page_.words.push_back({box, text});
    return *this;
  }
  const PageText& page() const { return page_; }
  std::string markdown() const { return markdown_of(page_); }

 private:
  PageText page_;
};

inline const std::vector<std::string> kProse{
    "The gateway accepts every document once and keeps its result until",
    "someone reads it while workers share the pages between them so that",
    "a long report is finished sooner than one process could do it alone"};
inline const std::string kProseText = kProse[0] + " " + kProse[1] + " " + kProse[2];  // as one paragraph

}  // namespace millrace::engines
