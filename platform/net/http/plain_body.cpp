#include "platform/net/http/plain_body.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <optional>
#include <utility>

#include "platform/net/http/http_text.h"

namespace millrace::net {
namespace {

constexpr std::string_view kLineEnd = "\r\n";
constexpr std::size_t kFieldsUsual = 12;

using Letters = std::array<bool, 256>;

template <class Is>
constexpr Letters letters_that(Is is) {
  Letters all{};
  for (std::size_t byte = 0; byte < all.size(); ++byte) all[byte] = is(static_cast<char>(byte));
  return all;
}
constexpr Letters kTokenLetters = letters_that([](char c) {
  return c > ' ' && c < '\x7f' && std::string_view("\"(),/:;<=>?@[\\]{}").find(c) == std::string_view::npos;
});
// No line ends and no other control characters; bytes above ASCII are allowed.
constexpr Letters kValueLetters =
    letters_that([](char c) { return (static_cast<unsigned char>(c) >= ' ' && c != '\x7f') || c == '\t'; });

bool are_all(const Letters& letters, std::string_view text) {
  return std::ranges::all_of(text, [&](char c) { return letters[static_cast<unsigned char>(c)]; });
}

bool is_token(std::string_view text) { return !text.empty() && are_all(kTokenLetters, text); }

base::Error broken(std::string_view what) {
  return request_failed(std::string("the reply's head is malformed: ").append(what));
}

std::string_view taken_line(std::string_view& text) {
  const std::size_t end = text.find(kLineEnd);
  const std::string_view line = text.substr(0, end);
  text.remove_prefix(std::min(text.size(), line.size() + kLineEnd.size()));
  return line;
}

std::optional<std::uint64_t> length_in(std::string_view text) {
  std::uint64_t length = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), length);
  if (text.empty() || error != std::errc{} || end != text.data() + text.size()) return std::nullopt;
  return length;
}

bool has_word(std::string_view list, std::string_view low) {
  while (!list.empty()) {
    const std::string_view word = list.substr(0, list.find(','));
    if (is_same_word(trimmed(word), low)) return true;
    list.remove_prefix(std::min(list.size(), word.size() + 1));
  }
  return false;
}

// The fields that concern the body and the connection.
struct ConnectionFields {
  std::optional<std::uint64_t> length;
  bool chunked = false, close = false, keep_alive = false;
};

base::Status take_field(std::string_view name, std::string_view value, ConnectionFields& fields) {
  if (name == "content-length") {
    const auto length = length_in(value);
    if (!length) return broken("a Content-Length that is not a number");
    if (fields.length && *fields.length != *length) return broken("two different lengths");
    fields.length = length;
  } else if (name == "transfer-encoding") {
    if (fields.chunked || !is_same_word(value, "chunked"))
      return broken("a Transfer-Encoding other than chunked");
    fields.chunked = true;
  } else if (name == "connection") {
    fields.close = fields.close || has_word(value, "close");
    fields.keep_alive = fields.keep_alive || has_word(value, "keep-alive");
  }
  return {};
}

base::Status read_field(std::string_view line, HttpReply& reply, ConnectionFields& fields) {
  if (line.front() == ' ' || line.front() == '\t') return broken("a folded field");
  const std::size_t colon = line.find(':');
  if (colon == std::string_view::npos || !is_token(line.substr(0, colon)))
    return broken("a field without a name");
  if (!are_all(kValueLetters, line.substr(colon + 1))) return broken("a control character");
  const std::string_view value = trimmed(line.substr(colon + 1));
  if (reply.headers.size() >= kReplyFieldsMax)
    return broken("more than " + std::to_string(kReplyFieldsMax) + " fields");
  const auto& field = reply.headers.emplace_back(lower_case(line.substr(0, colon)), value);
  return take_field(field.first, value, fields);
}

// Parses "HTTP/1.1 200" and any reason phrase. The minor version must be 0 or 1. nullopt: not a status line.
struct StatusLine {
  int status = 0;
  bool http10 = false;
};
std::optional<StatusLine> status_line(std::string_view line) {
  constexpr std::size_t kShortest = 12;
  if (line.size() < kShortest || !line.starts_with("HTTP/1.") || (line[7] != '0' && line[7] != '1'))
    return {};
  if (line[8] != ' ' || (line.size() > kShortest && line[kShortest] != ' ')) return {};
  const auto status = length_in(line.substr(9, 3));
  if (!status || *status < 100 || *status > 599) return {};
  return StatusLine{static_cast<int>(*status), line[7] == '0'};
}

base::Result<ReplyFraming> framing_of(const StatusLine& line, const ConnectionFields& fields, bool bodiless) {
  ReplyFraming out;
  if (fields.chunked && fields.length) return broken("both Content-Length and Transfer-Encoding");
  if (fields.chunked && line.http10) return broken("Transfer-Encoding in HTTP/1.0");
  out.interim = line.status < 200;
  if (line.status == 101) return broken("status 101, which was not requested");
  out.keeps = !fields.close && (!line.http10 || fields.keep_alive);
  if (out.interim || bodiless || line.status == 204 || line.status == 304) return out;
  if (fields.chunked) {
    out.form = Framing::kChunked;
  } else if (fields.length) {
    out.form = *fields.length > 0 ? Framing::kLength : Framing::kNone;
    out.length = *fields.length;
  } else {
    out.form = Framing::kUntilClose;
    out.keeps = false;
  }
  return out;
}

bool names(const HttpRequest& request, std::string_view low) {
  return std::ranges::any_of(request.headers,
                             [&](const auto& field) { return is_same_word(field.first, low); });
}

std::string_view without_default_port(const PlainUrl& url) {
  return url.authority.ends_with(":80") ? url.authority.substr(0, url.authority.size() - 3) : url.authority;
}

}  // namespace

base::Result<std::string> request_head(const HttpRequest& request, const PlainUrl& url) {
  std::string out;
  out.reserve(512);
  out.append(request.method).append(" ");
  if (!url.target.starts_with('/')) out.push_back('/');
  out.append(url.target).append(" HTTP/1.1\r\n");
  const auto unless_named = [&](std::string_view low, std::string_view name, std::string_view value) {
    if (!names(request, low)) out.append(name).append(": ").append(value).append(kLineEnd);
  };
  unless_named("host", "Host", without_default_port(url));
  unless_named("user-agent", "User-Agent", "millrace/" MILLRACE_VERSION);
  unless_named("accept", "Accept", "*/*");
  unless_named("accept-encoding", "Accept-Encoding",
               request.identity_encoding ? "identity" : "gzip, deflate");
  for (const auto& [name, value] : request.headers) {
    if (value.empty()) continue;  // like curl: a field without a value is not sent
    if (!is_token(name) || !are_all(kValueLetters, value))
      return request_failed("the header '" + name + "' cannot be sent");
    out.append(name).append(": ").append(value).append(kLineEnd);
  }
  if (!request.body.empty() || request.method == "POST")
    out.append("Content-Length: ").append(std::to_string(request.body.size())).append(kLineEnd);
  return out.append(kLineEnd);
}

base::Result<ReplyFraming> read_reply_head(std::string_view text, bool bodiless, HttpReply& reply) {
  const auto line = status_line(taken_line(text));
  if (!line) return request_failed("the reply is not HTTP/1");
  reply.status = line->status;
  reply.headers.clear();
  reply.headers.reserve(kFieldsUsual);
  ConnectionFields fields;
  for (std::string_view field = taken_line(text); !field.empty(); field = taken_line(text)) {
    if (base::Status good = read_field(field, reply, fields); !good) return good.error();
  }
  return framing_of(*line, fields, bodiless);
}

namespace {

constexpr std::uint8_t kChunkDigitsMax = 15;
constexpr std::uint16_t kExtensionBytesMax = 1'024;  // per chunk
constexpr std::uint16_t kReplyTrailerBytesMax = 8'192;

int digit_of(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

bool is_line_letter(char c) { return static_cast<unsigned char>(c) >= ' ' || c == '\t'; }

}  // namespace

BodyFrames::BodyFrames(ReplyFraming framing) : form_(framing.form), left_(framing.length) {}

BodyFrames::State BodyFrames::next(std::string_view& input, std::string_view& piece) {
  switch (form_) {
    case Framing::kNone:
      return State::kDone;
    case Framing::kLength:
      if (left_ == 0) return State::kDone;
      return input.empty() ? State::kMore : cut(input, piece);
    case Framing::kUntilClose:
      piece = std::exchange(input, {});
      return piece.empty() ? State::kMore : State::kPiece;
    case Framing::kChunked:
      break;
  }
  return next_of_chunks(input, piece);
}

BodyFrames::State BodyFrames::cut(std::string_view& input, std::string_view& piece) {
  piece = input.substr(0, static_cast<std::size_t>(std::min<std::uint64_t>(left_, input.size())));
  input.remove_prefix(piece.size());
  left_ -= piece.size();
  return State::kPiece;
}

BodyFrames::State BodyFrames::next_of_chunks(std::string_view& input, std::string_view& piece) {
  while (!done_ && !input.empty()) {
    if (step_ == Step::kData) {
      const State state = cut(input, piece);
      if (left_ == 0) step_ = Step::kDataCr;
      return state;
    }
    const char c = input.front();
    input.remove_prefix(1);
    if (!take(c)) return State::kBroken;
  }
  return done_ ? State::kDone : State::kMore;
}

bool BodyFrames::take(char c) {
  switch (step_) {
    case Step::kSize:
      return take_size(c);
    case Step::kExtension:
      if (c == '\r') return step_ = Step::kSizeLf, true;
      return is_line_letter(c) && ++more_bytes_ <= kExtensionBytesMax;
    case Step::kSizeLf:
    case Step::kDataLf:
    case Step::kTrailerLf:
      end_line();
      return c == '\n';
    case Step::kDataCr:
      return step_ = Step::kDataLf, c == '\r';
    case Step::kTrailer:
      if (c == '\r') return step_ = Step::kTrailerLf, true;
      line_empty_ = false;
      return is_line_letter(c) && ++more_bytes_ <= kReplyTrailerBytesMax;
    case Step::kData:
      break;
  }
  return false;
}

bool BodyFrames::take_size(char c) {
  if (const int digit = digit_of(c); digit >= 0) {
    left_ = left_ * 16 + static_cast<std::uint64_t>(digit);
    return ++digits_ <= kChunkDigitsMax;
  }
  more_bytes_ = 0;
  step_ = c == '\r' ? Step::kSizeLf : Step::kExtension;
  // Some servers pad the size with blanks.
  return digits_ > 0 && (c == '\r' || c == ';' || c == ' ' || c == '\t');
}

void BodyFrames::end_line() {
  if (step_ == Step::kSizeLf) {
    step_ = left_ > 0 ? Step::kData : Step::kTrailer;
    more_bytes_ = 0;
  } else if (step_ == Step::kDataLf) {
    step_ = Step::kSize;
  } else {
    done_ = line_empty_;
    line_empty_ = true;
    step_ = Step::kTrailer;
  }
  digits_ = 0;
}

}  // namespace millrace::net
