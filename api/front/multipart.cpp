#include "api/front/multipart.h"

#include <algorithm>
#include <utility>

#include "api/front/characters.h"
#include "api/front/part_head.h"

namespace millrace::front {
namespace {

constexpr std::string_view kCrLf = "\r\n";
constexpr std::size_t kTailMax = 64;  // blanks behind a boundary (RFC 2046: transport padding)
constexpr CharClass kBoundaryChars = char_class("'()+_,-./:=? ");

base::Error malformed(std::string message) {
  return base::error(base::Code::kBadRequest, std::move(message));
}

base::Error above(std::string_view what, std::size_t bound, std::string_view unit) {
  return malformed(std::string(what).append(" at most ").append(std::to_string(bound)).append(unit));
}

// A head's line is text: no NUL, no lone CR or LF.
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

// Such bodies are sent as they are; what says otherwise would be stored as something else.
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
  if (!boundary) return malformed("The Content-Type of the form names no boundary");
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
    failed_ = malformed(parts_ == 0 ? "The body is no form: its boundary is not in it"
                                    : "The form breaks off: its last boundary is missing");
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

// The delimiter begins with the only CR in it: where a match ends early, the next one begins at a CR behind.
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

// A match that began in an earlier piece.
base::Status FormReader::go_on_with_match(std::string_view& bytes) {
  const std::string_view wanted = std::string_view(delimiter_).substr(matched_);
  const std::string_view here = bytes.substr(0, wanted.size());
  const auto [end, ignored] = std::mismatch(here.begin(), here.end(), wanted.begin());
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
  return above("The body is no form: before its first boundary there may be", kFormPreambleMax, " bytes");
}

// Behind the delimiter: two dashes end the form, blanks and a line end the line. Anything else, and the
// delimiter was content.
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
  if (seen.ends_with('\r')) {  // which may begin the delimiter
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
        "A line of the form does not end with CR LF: a client must end them so, and a boundary must not "
        "occur in what it bounds");
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
    return malformed("The parts of the form must be sent as they are, without a Content-Transfer-Encoding");
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
