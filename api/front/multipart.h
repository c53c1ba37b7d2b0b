#pragma once
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "platform/base/result.h"

// Header fields with parameters (RFC 9110 §5.6.6), as forms have them. Pure.
namespace millrace::front {

// `type; name="value"; …` taken apart from the front.
class HeaderValue {
 public:
  explicit HeaderValue(std::string_view text);

  std::string_view first() const { return first_; }  // what stands before the first parameter
  struct Parameter {
    std::string name;   // in lower case
    std::string value;  // without its quotes; \" \\ and %22 stand for what they mean
  };
  // The next parameter; nullopt: there is none. kBadRequest: what is there is malformed.
  base::Result<std::optional<Parameter>> next();

 private:
  base::Result<std::string> value();
  base::Result<std::string> quoted();

  std::string_view first_, rest_;
};

// The value of a parameter such as filename* (RFC 8187), UTF-8 only; nullopt: it is none.
std::optional<std::string> extended_value(std::string_view text);

std::string lower_case(std::string_view text);
std::string_view without_blanks(std::string_view text);  // around it: spaces and tabs

// multipart/form-data (RFC 7578, RFC 2046 §5.1) as it arrives. Pure: no socket, no file, no clock.

inline constexpr std::size_t kBoundaryMax = 70;  // RFC 2046
inline constexpr std::size_t kFormPartsMax = 32;
inline constexpr std::size_t kPartHeadBytesMax = 8 * 1024;
inline constexpr std::size_t kPartHeadersMax = 16;
inline constexpr std::size_t kPartNameMax = 256;       // bytes
inline constexpr std::size_t kFormPreambleMax = 1024;  // bytes before the first boundary

// What a part says of itself.
struct PartHead {
  std::string name;                      // never empty
  std::optional<std::string> file_name;  // as sent, paths and all; nullopt: a plain field
  std::string content_type;              // as sent; empty: none
  friend bool operator==(const PartHead&, const PartHead&) = default;
};

// What a form is made of, in its order: each part begins, has bytes in pieces of any size, and ends. An error
// ends the parsing and is what `feed` returns.
class FormEvents {
 public:
  virtual ~FormEvents() = default;
  virtual base::Status part_begins(PartHead head) = 0;
  virtual base::Status part_bytes(std::string_view bytes) = 0;
  virtual base::Status part_ends() = 0;
};

// The boundary that a Content-Type names. kUnsupportedType: it is not multipart/form-data; kBadRequest: it
// names none, or one that is malformed.
base::Result<std::string> form_boundary(std::string_view content_type);

// Reads one form in whatever pieces it comes; however it is cut, the events are the same but for the cuts in
// a part's bytes. The work is linear in the bytes. Lines end with CR LF; a boundary counts only at the
// beginning of a line, and only if its line ends behind it. kBadRequest for what is no form, and past a bound
// above; the message says which. After an error every call returns it.
class FormReader {
 public:
  // `events` must outlive it. REQUIRES: `boundary` is one that form_boundary returned.
  FormReader(std::string_view boundary, FormEvents& events);

  base::Status feed(std::string_view bytes);
  // The body is over. Error: the last boundary has not been seen.
  base::Status finish();

 private:
  enum class Step : std::uint8_t {
    kPreamble,  // before the first boundary
    kContent,   // of a part
    kTail,      // behind a boundary: is its line at its end?
    kHead,      // of a part
    kEpilogue,  // behind the last boundary: dropped
  };

  base::Status step(std::string_view& bytes);
  base::Status search(std::string_view& bytes);
  base::Status go_on_with_match(std::string_view& bytes);
  base::Status content(std::string_view bytes);
  base::Status tail(std::string_view& bytes);
  base::Status no_boundary();
  base::Status boundary_line_ends(bool is_last);
  base::Status head(std::string_view& bytes);
  base::Status head_line(std::string_view line);
  base::Status head_ends();

  const std::string delimiter_;  // CR LF, two dashes, the boundary
  FormEvents& events_;
  Step step_ = Step::kPreamble;
  bool in_part_ = false;      // content goes to the events, not to the preamble
  std::size_t matched_ = 2;   // bytes of the delimiter that were seen: a form begins as if behind a line
  std::size_t borrowed_ = 2;  // of these, bytes that are no content: the line end of what stood before
  std::string tail_;          // what stands behind the delimiter
  std::string line_;          // of a head, so far
  std::size_t preamble_bytes_ = 0, head_bytes_ = 0, headers_ = 0, parts_ = 0;
  std::optional<PartHead> part_;  // the head being read; set once its disposition was
  std::string part_type_;
  std::optional<base::Error> failed_;
};

}  // namespace millrace::front
