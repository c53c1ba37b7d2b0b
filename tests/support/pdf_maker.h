#pragma once
#include <optional>
#include <string>
#include <vector>

namespace millrace::support {

// Creates small PDFs with known content, for tests that need real documents.
class PdfMaker {
 public:
  // A page with one line of Helvetica per string, from top to bottom. A line "*text" is bold.
  PdfMaker& text_page(const std::vector<std::string>& lines, float points = 11);
  // A page with this content stream.
  PdfMaker& page(std::string content, float width = 595, float height = 842, int quarter_turns = 0);
  // A page without a text layer that consists of one 8-bit gray picture.
  PdfMaker& scan_page(const std::string& gray, int width, int height, int quarter_turns = 0);
  // Lines of text at the top, and below them the picture, at (100, 300) points and 200 x 150 points large.
  PdfMaker& picture_page(const std::vector<std::string>& lines, const std::string& gray, int width,
                         int height);
  // A page of a few hundred bytes that expands to 10^`levels` words.
  PdfMaker& bomb_page(int levels);
  // Sets /Count to a wrong value.
  PdfMaker& claim_pages(int count);
  // Encrypts the document with an unknown password.
  PdfMaker& encrypt();
  std::string bytes() const;

 private:
  static std::string text_content(const std::vector<std::string>& lines, float points);
  struct Page {
    std::string content;
    float width, height;
    int rotation;
    std::string resources;  // further entries besides the fonts; "%1" … are the numbers of `objects`
    std::vector<std::string> objects;
  };
  std::vector<Page> pages_;
  std::optional<int> claimed_;
  bool encrypted_ = false;
};

// The header of a PNG that claims this size, without image data.
std::string png_head(unsigned width, unsigned height);

}  // namespace millrace::support
