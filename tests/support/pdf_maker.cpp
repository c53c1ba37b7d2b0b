#include "tests/support/pdf_maker.h"

#include <cstdio>

namespace millrace::support {
namespace {

std::string stream(const std::string& entries, const std::string& data) {
  return "<< " + entries + " /Length " + std::to_string(data.size()) + " >>\nstream\n" + data + "\nendstream";
}

std::string escaped(const std::string& text) {
  std::string out;
  for (const char c : text) {
    if (c == '(' || c == ')' || c == '\\') out += '\\';
    out += c;
  }
  return out;
}

// Objects numbered from 1, and the table of their offsets.
class Body {
 public:
  std::size_t add(const std::string& object) {
    at_.push_back(text_.size());
    text_ += std::to_string(at_.size()) + " 0 obj\n" + object + "\nendobj\n";
    return at_.size();
  }
  std::size_t next() const { return at_.size() + 1; }
  std::string finished(std::size_t root, const std::string& more) const {
    std::string out = text_;
    out += "xref\n0 " + std::to_string(at_.size() + 1) + "\n0000000000 65535 f \n";
    char line[32];
    for (const std::size_t at : at_) {
      std::snprintf(line, sizeof line, "%010zu 00000 n \n", at);
      out += line;
    }
    out += "trailer\n<< /Size " + std::to_string(at_.size() + 1) + " /Root " + std::to_string(root) + " 0 R" +
           more;
    return out + " >>\nstartxref\n" + std::to_string(text_.size()) + "\n%%EOF\n";
  }

 private:
  std::string text_ = "%PDF-1.4\n";
  std::vector<std::size_t> at_;
};

std::string image(const std::string& gray, int width, int height) {
  const std::string size = "/Width " + std::to_string(width) + " /Height " + std::to_string(height);
  return stream("/Type /XObject /Subtype /Image " + size + " /ColorSpace /DeviceGray /BitsPerComponent 8",
                gray);
}

std::string reference(std::size_t number) { return std::to_string(number) + " 0 R"; }

// Replaces %1, %2 … by the object numbers of the page's own objects. `first` is the number of the first one.
std::string numbered(std::string text, std::size_t count, std::size_t first) {
  for (std::size_t i = count; i > 0; --i) {
    const std::string mark = "%" + std::to_string(i) + ";";
    for (std::size_t at = 0; (at = text.find(mark, at)) != std::string::npos;) {
      text.replace(at, mark.size(), reference(first + i - 1));
    }
  }
  return text;
}

}  // namespace

std::string PdfMaker::text_content(const std::vector<std::string>& lines, float points) {
  std::string content = "BT 72 770 Td " + std::to_string(points * 1.25F) + " TL\n";
  for (const std::string& line : lines) {
    const bool bold = line.starts_with('*');
    content += (bold ? "/F2 " : "/F1 ") + std::to_string(points) + " Tf (" +
               escaped(line.substr(bold ? 1 : 0)) + ") Tj T*\n";
  }
  return content + "ET";
}

PdfMaker& PdfMaker::text_page(const std::vector<std::string>& lines, float points) {
  return page(text_content(lines, points));
}

PdfMaker& PdfMaker::page(std::string content, float width, float height, int quarter_turns) {
  pages_.push_back({std::move(content), width, height, quarter_turns * 90, {}, {}});
  return *this;
}

PdfMaker& PdfMaker::scan_page(const std::string& gray, int width, int height, int quarter_turns) {
  pages_.push_back({"595 0 0 842 0 0 cm /Im Do",
                    595,
                    842,
                    quarter_turns * 90,
                    "/XObject << /Im %1; >>",
                    {image(gray, width, height)}});
  return *this;
}

PdfMaker& PdfMaker::picture_page(const std::vector<std::string>& lines, const std::string& gray, int width,
                                 int height) {
  pages_.push_back({text_content(lines, 11) + " q 200 0 0 150 100 300 cm /Im Do Q",
                    595,
                    842,
                    0,
                    "/XObject << /Im %1; >>",
                    {image(gray, width, height)}});
  return *this;
}

PdfMaker& PdfMaker::bomb_page(int levels) {
  std::vector<std::string> forms;
  for (int level = 1; level <= levels; ++level) {
    std::string calls;
    for (int i = 0; i < 10; ++i) calls += "/X Do ";
    const std::string inside = "/XObject << /X %" + std::to_string(level + 1) + "; >>";
    forms.push_back(
        stream("/Type /XObject /Subtype /Form /BBox [0 0 595 842] /Resources << " + inside + " >>", calls));
  }
  forms.push_back(stream("/Type /XObject /Subtype /Form /BBox [0 0 595 842]", "0 0 m 9 9 l S"));
  pages_.push_back({"/X Do", 595, 842, 0, "/XObject << /X %1; >>", std::move(forms)});
  return *this;
}

PdfMaker& PdfMaker::claim_pages(int count) {
  claimed_ = count;
  return *this;
}

PdfMaker& PdfMaker::encrypt() {
  encrypted_ = true;
  return *this;
}

std::string PdfMaker::bytes() const {
  Body body;
  const auto font = [&body](const char* name) {
    return reference(body.add(std::string("<< /Type /Font /Subtype /Type1 /BaseFont /") + name + " >>"));
  };
  const std::string regular = font("Helvetica");
  const std::string bold = font("Helvetica-Bold");
  std::size_t objects = 0;
  for (const Page& page : pages_) objects += page.objects.size() + 2;
  const std::size_t tree = body.next() + objects;
  std::string kids;
  for (const Page& page : pages_) {
    const std::size_t first = body.next();
    for (const std::string& object : page.objects) body.add(numbered(object, page.objects.size(), first));
    const std::size_t content = body.add(stream("", page.content));
    const std::string box = "[0 0 " + std::to_string(page.width) + " " + std::to_string(page.height) + "]";
    const std::string own = numbered(page.resources, page.objects.size(), first);
    kids += " " + reference(body.add("<< /Type /Page /Parent " + reference(tree) + " /MediaBox " + box +
                                     " /Rotate " + std::to_string(page.rotation) + " /Contents " +
                                     reference(content) + " /Resources << /Font << /F1 " + regular + " /F2 " +
                                     bold + " >> " + own + " >> >>"));
  }
  const int count = claimed_.value_or(static_cast<int>(pages_.size()));
  body.add("<< /Type /Pages /Count " + std::to_string(count) + " /Kids [" + kids + " ] >>");
  const std::size_t root = body.add("<< /Type /Catalog /Pages " + reference(tree) + " >>");
  const std::string key(64, '7');
  const std::string locked = " /ID [<" + key + "> <" + key +
                             ">] /Encrypt << /Filter /Standard /V 1 /R 2 /O <" + key + "> /U <" + key +
                             "> /P -4 >>";
  return body.finished(root, encrypted_ ? locked : "");
}

std::string png_head(unsigned width, unsigned height) {
  std::string out("\x89PNG\r\n\x1a\n\0\0\0\x0dIHDR", 16);
  for (const unsigned value : {width, height}) {
    for (int shift = 24; shift >= 0; shift -= 8) out += static_cast<char>(value >> shift);
  }
  return out + std::string("\x08\0\0\0\0\0\0\0\0", 9) + std::string(64, '\0');
}

}  // namespace millrace::support
