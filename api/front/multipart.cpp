#include "api/front/multipart.h"

#include <algorithm>
#include <utility>

#include "api/front/characters.h"

namespace millrace::front {
namespace {

base::Error bad_parameter() {
  return base::error(base::Code::kBadRequest, "A header of the form has a malformed parameter");
}

int hex_digit_value(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

// Browsers encode a quote in a name as %22 and leave other characters unchanged.
std::string with_quotes(std::string text) {
  constexpr std::string_view kQuote = "%22";
  std::size_t at = text.find(kQuote);
  if (at == std::string::npos) return text;
  std::string out;
  std::size_t from = 0;
  for (; at != std::string::npos; at = text.find(kQuote, from)) {
    out.append(text, from, at - from) += '"';
    from = at + kQuote.size();
  }
  return out.append(text, from);
}

}  // namespace

std::string lower_case(std::string_view text) {
  std::string out(text);
  for (char& c : out) c = c >= 'A' && c <= 'Z' ? static_cast<char>(c | 0x20) : c;
  return out;
}

HeaderValue::HeaderValue(std::string_view text) {
  const std::size_t end = std::min(text.find(';'), text.size());
  first_ = without_blanks(text.substr(0, end));
  rest_ = text.substr(end);
}

base::Result<std::optional<HeaderValue::Parameter>> HeaderValue::next() {
  rest_ = without_blanks(rest_);
  while (rest_.starts_with(';')) rest_ = without_blanks(rest_.substr(1));
  if (rest_.empty()) return std::optional<Parameter>();
  const std::size_t end = rest_.find('=');
  if (end == std::string_view::npos) return bad_parameter();
  const std::string_view name = without_blanks(rest_.substr(0, end));
  if (!is_token(name)) return bad_parameter();
  rest_ = without_blanks(rest_.substr(end + 1));
  auto read = value();
  if (!read) return read.error();
  rest_ = without_blanks(rest_);
  if (!rest_.empty() && rest_.front() != ';') return bad_parameter();
  return std::optional(Parameter{lower_case(name), std::move(*read)});
}

base::Result<std::string> HeaderValue::value() {
  if (rest_.starts_with('"')) return quoted();
  const std::size_t end = std::min(rest_.find(';'), rest_.size());
  const std::string_view plain = without_blanks(rest_.substr(0, end));
  rest_ = rest_.substr(end);
  if (plain.empty() || plain.find('"') != std::string_view::npos) return bad_parameter();
  return std::string(plain);
}

// A backslash escapes a quote or a backslash. Before any other character it is literal, as in a Windows path.
base::Result<std::string> HeaderValue::quoted() {
  std::string out;
  for (std::size_t at = 1; at < rest_.size(); ++at) {
    const char c = rest_[at];
    const bool escapes =
        c == '\\' && at + 1 < rest_.size() && (rest_[at + 1] == '"' || rest_[at + 1] == '\\');
    if (escapes) {
      out += rest_[++at];
    } else if (c == '"') {
      rest_ = rest_.substr(at + 1);
      return with_quotes(std::move(out));
    } else {
      out += c;
    }
  }
  return bad_parameter();
}

std::optional<std::string> extended_value(std::string_view text) {
  const std::size_t charset = text.find('\'');
  const std::size_t language = charset == std::string_view::npos ? charset : text.find('\'', charset + 1);
  if (language == std::string_view::npos || lower_case(text.substr(0, charset)) != "utf-8")
    return std::nullopt;
  std::string out;
  text.remove_prefix(language + 1);
  for (std::size_t at = 0; at < text.size(); ++at) {
    if (text[at] != '%') {
      out += text[at];
      continue;
    }
    if (at + 2 >= text.size()) return std::nullopt;
    const int high = hex_digit_value(text[at + 1]), low = hex_digit_value(text[at + 2]);
    if (high < 0 || low < 0) return std::nullopt;
    out += static_cast<char>(high * 16 + low);
    at += 2;
  }
  return out;
}

namespace {

constexpr std::string_view kCrLf = "\r\n";
constexpr std::size_t kTailMax = 64;  // blanks after a boundary (RFC 2046: transport padding)
constexpr CharClass kBoundaryChars = char_class("'()+_,-./:=? ");

base::Error malformed(std::string message) {
  return base::error(base::Code::kBadRequest, std::move(message));
}

base::Error above(std::string_view what, std::size_t bound, std::string_view unit) {
  return malformed(std::string(what).append(" at most ").append(std::to_string(bound)).append(unit));
}

// A header line is text: no NUL, no lone CR or LF.
bool is_line(std::string_view line) { return all_in(kValueChars, line); }

base::Status read_disposition(std::string_view value, PartHead& out) {
  HeaderValue parts(value);
  if (lower_case(parts.first()) != "form-data")
    return malformed("A part of the form is not `Content-Disposition: form-data`");
  std::optional<std::string> extended;
  while (true) {
    auto parameter = parts.next();
    if (!parameter) return parameter.error();
    if (!*parameter) break;
    auto& [name, text] = **parameter;
    if (name == "name") {
      out.name = std::move(text);
    } else if (name == "filename") {
      out.file_name = std::move(text);
    } else if (name == "filename*") {
      extended = extended_value(text);
    }
  }
  if (extended) out.file_name = std::move(extended);
  if (out.name.empty()) return malformed("A part of the form has no name");
  if (out.name.size() > kPartNameMax)
    return above("The name of a part of the form may have", kPartNameMax, " bytes");
  return {};
}

// Encodings that leave the content unchanged. Other encodings are rejected, because the encoded bytes would
// be stored.
bool is_plain_encoding(std::string_view value) {
  const std::string text = lower_case(value);
  return text == "binary" || text == "8bit" || text == "7bit";
}

}  // namespace

base::Result<std::string> form_boundary(std::string_view content_type) {
  HeaderValue parts(content_type);
  if (lower_case(parts.first()) != "multipart/form-data")
    return base::error(base::Code::kUnsupportedType,
                       "The body must be sent with `Content-Type: multipart/form-data`");
  std::optional<std::string> boundary;
  while (true) {
    auto parameter = parts.next();
    if (!parameter) return malformed("The Content-Type of the form is malformed");
    if (!*parameter) break;
    if ((*parameter)->name == "boundary") boundary = std::move((*parameter)->value);
  }
  if (!boundary) return malformed("The Content-Type of the form has no boundary");
  const bool good = !boundary->empty() && boundary->size() <= kBoundaryMax &&
                    all_in(kBoundaryChars, *boundary) && !boundary->ends_with(' ');
  if (!good) return malformed("The boundary of the form must be 1 to 70 of the characters of RFC 2046");
  return std::move(*boundary);
}

FormReader::FormReader(std::string_view boundary, FormEvents& events)
    : delimiter_(std::string(kCrLf).append("--").append(boundary)), events_(events) {}

base::Status FormReader::feed(std::string_view bytes) {
  while (!failed_ && !bytes.empty()) {
    if (base::Status done = step(bytes); !done) failed_ = done.error();
  }
  if (failed_) return *failed_;
  return {};
}

base::Status FormReader::finish() {
  if (!failed_ && step_ != Step::kEpilogue)
    failed_ = malformed(parts_ == 0 ? "The body is not a form: its boundary is not in it"
                                    : "The form is incomplete: its last boundary is missing");
  if (failed_) return *failed_;
  return {};
}

base::Status FormReader::step(std::string_view& bytes) {
  switch (step_) {
    case Step::kPreamble:
    case Step::kContent:
      return search(bytes);
    case Step::kTail:
      return tail(bytes);
    case Step::kHead:
      return head(bytes);
    case Step::kEpilogue:
      bytes = {};
      return {};
  }
  return {};
}

// The delimiter contains one CR, its first character. If a match fails early, the next candidate starts at a
// later CR.
base::Status FormReader::search(std::string_view& bytes) {
  if (matched_ > 0) return go_on_with_match(bytes);
  std::size_t at = bytes.find('\r');
  while (at != std::string_view::npos) {
    const std::string_view candidate = bytes.substr(at, delimiter_.size());
    const auto [end, ignored] = std::mismatch(candidate.begin(), candidate.end(), delimiter_.begin());
    const auto length = static_cast<std::size_t>(end - candidate.begin());
    const bool cut = at + length == bytes.size();
    if (length == delimiter_.size() || cut) {
      const std::string_view before = bytes.substr(0, at);
      bytes.remove_prefix(at + length);
      matched_ = length;
      if (length == delimiter_.size()) step_ = Step::kTail;
      return content(before);
    }
    at = bytes.find('\r', at + length);
  }
  return content(std::exchange(bytes, {}));
}

// Continues a match that began in an earlier piece.
base::Status FormReader::go_on_with_match(std::string_view& bytes) {
  const std::string_view expected = std::string_view(delimiter_).substr(matched_);
  const std::string_view here = bytes.substr(0, expected.size());
  const auto [end, ignored] = std::mismatch(here.begin(), here.end(), expected.begin());
  const auto length = static_cast<std::size_t>(end - here.begin());
  bytes.remove_prefix(length);
  matched_ += length;
  if (matched_ == delimiter_.size()) {
    step_ = Step::kTail;
    return {};
  }
  if (bytes.empty()) return {};
  const auto seen = std::string_view(delimiter_).substr(0, std::exchange(matched_, 0));
  return content(seen.substr(std::exchange(borrowed_, 0)));
}

base::Status FormReader::content(std::string_view bytes) {
  if (bytes.empty()) return {};
  if (in_part_) return events_.part_bytes(bytes);
  preamble_bytes_ += bytes.size();
  if (preamble_bytes_ <= kFormPreambleMax) return {};
  return above("The body is not a form: its first boundary must come after", kFormPreambleMax, " bytes");
}

// After the delimiter, two dashes end the form; blanks and a line break end the line. After anything else,
// the delimiter belongs to the content.
base::Status FormReader::tail(std::string_view& bytes) {
  const char c = bytes.front();
  if (tail_.empty() && c == '-') {
    tail_ = c;
  } else if (tail_ == "-") {
    if (c != '-') return no_boundary();
    bytes.remove_prefix(1);
    return boundary_line_ends(true);
  } else if (tail_.ends_with('\r')) {
    if (c != '\n') return no_boundary();
    bytes.remove_prefix(1);
    return boundary_line_ends(false);
  } else if (c == '\r' || ((c == ' ' || c == '\t') && tail_.size() < kTailMax)) {
    tail_ += c;
  } else {
    return no_boundary();
  }
  bytes.remove_prefix(1);
  return {};
}

base::Status FormReader::no_boundary() {
  step_ = in_part_ ? Step::kContent : Step::kPreamble;
  std::string seen = std::exchange(tail_, {});
  if (seen.ends_with('\r')) {  // the CR may begin the delimiter
    seen.pop_back();
    matched_ = 1;
  } else {
    matched_ = 0;
  }
  const auto line = std::string_view(delimiter_).substr(std::exchange(borrowed_, 0));
  if (auto given = content(line); !given) return given;
  return content(seen);
}

base::Status FormReader::boundary_line_ends(bool is_last) {
  tail_.clear();
  matched_ = borrowed_ = 0;
  step_ = is_last ? Step::kEpilogue : Step::kHead;
  if (std::exchange(in_part_, false)) {
    if (auto ended = events_.part_ends(); !ended) return ended;
  }
  if (is_last) return {};
  if (++parts_ > kFormPartsMax) return above("The form may have", kFormPartsMax, " parts");
  head_bytes_ = headers_ = 0;
  part_.reset();
  part_type_.clear();
  return {};
}

base::Status FormReader::head(std::string_view& bytes) {
  const std::size_t end = bytes.find('\n');
  const std::size_t count = end == std::string_view::npos ? bytes.size() : end + 1;
  head_bytes_ += count;
  if (head_bytes_ > kPartHeadBytesMax)
    return above("The headers of a part of the form may have", kPartHeadBytesMax, " bytes");
  line_.append(bytes.substr(0, count));
  bytes.remove_prefix(count);
  if (end == std::string_view::npos) return {};
  if (!line_.ends_with(kCrLf))
    return malformed(
        "A header line of the form does not end with CR LF. End header lines with CR LF, and choose a "
        "boundary that does not occur in the content");
  line_.erase(line_.size() - kCrLf.size());
  return line_.empty() ? head_ends() : head_line(std::exchange(line_, {}));
}

base::Status FormReader::head_line(std::string_view line) {
  if (++headers_ > kPartHeadersMax) return above("A part of the form may have", kPartHeadersMax, " headers");
  const std::size_t colon = line.find(':');
  const bool good = is_line(line) && colon != std::string_view::npos && is_token(line.substr(0, colon));
  if (!good) return malformed("A header of a part of the form is malformed");
  const std::string name = lower_case(line.substr(0, colon));
  const std::string_view value = without_blanks(line.substr(colon + 1));
  if (name == "content-type") part_type_ = value;
  if (name == "content-transfer-encoding" && !is_plain_encoding(value))
    return malformed("Send the parts of the form without a Content-Transfer-Encoding such as base64");
  if (name != "content-disposition") return {};
  if (part_) return malformed("A part of the form has two Content-Disposition headers");
  part_.emplace();
  return read_disposition(value, *part_);
}

base::Status FormReader::head_ends() {
  if (!part_) return malformed("A part of the form has no Content-Disposition header");
  part_->content_type = std::move(part_type_);
  step_ = Step::kContent;
  in_part_ = true;
  matched_ = borrowed_ = kCrLf.size();  // a part without content may share the empty line with its delimiter
  PartHead head = std::move(*part_);
  part_.reset();
  return events_.part_begins(std::move(head));
}

}  // namespace millrace::front
