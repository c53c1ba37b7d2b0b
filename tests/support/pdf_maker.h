#pragma once
#include <optional>
#include <string>
#include <vector>

namespace millrace::support {

// Small PDFs, written by hand, for tests that need real documents of known content.
class PdfMaker {
 public:
  // A page with one line of Helvetica per string, from the top downwards; a line "*text" is set in bold.
  PdfMaker& text_page(const std::vector<std::string>& lines, float points = 11);
  // A page with this content stream.
  PdfMaker& page(std::string content, float width = 595, float height = 842);
  // A page without a text layer that is one 8-bit gray picture.
  PdfMaker& scan_page(const std::string& gray, int width, int height, int quarter_turns = 0);
  // Lines of text at the top and, from (100, 300) points on, the picture, 200 x 150 points.
  PdfMaker& picture_page(const std::vector<std::string>& lines, const std::string& gray, int width,
                         int height);
  // A page whose few hundred bytes ask for 10^`levels` words.
  PdfMaker& bomb_page(int levels);
  // What /Count says, when it is to lie.
  PdfMaker& claim_pages(int count);
  // Needs a password that nobody has.
  PdfMaker& encrypt();
  std::string bytes() const;

 private:
  static std::string text_content(const std::vector<std::string>& lines, float points);
  struct Page {
    std::string content;
    float width, height;
    int rotation;
    std::string resources;  // entries beside the fonts; "%1" … are the numbers of `objects`
    std::vector<std::string> objects;
  };
  std::vector<Page> pages_;
  std::optional<int> claimed_;
  bool encrypted_ = false;
};

// The head of a PNG that claims this size; nothing follows.
std::string png_head(unsigned width, unsigned height);

}  // namespace millrace::support
