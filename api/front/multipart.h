#pragma once
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "platform/base/result.h"

// Header fields with parameters (RFC 9110 §5.6.6), as used in forms. Pure.
namespace millrace::front {

// Parses `type; name="value"; …` from left to right.
class HeaderValue {
 public:
  explicit HeaderValue(std::string_view text);

  std::string_view first() const { return first_; }  // the text before the first parameter
  struct Parameter {
    std::string name;   // in lower case
    std::string value;  // without quotes; \" \\ and %22 are decoded
  };
  // The next parameter; nullopt: there are no more. kBadRequest: it is malformed.
  base::Result<std::optional<Parameter>> next();

 private:
  base::Result<std::string> value();
  base::Result<std::string> quoted();

  std::string_view first_, rest_;
};

// The value of a parameter such as filename* (RFC 8187), UTF-8 only; nullopt: it is malformed.
std::optional<std::string> extended_value(std::string_view text);

std::string lower_case(std::string_view text);

// multipart/form-data (RFC 7578, RFC 2046 §5.1) as it arrives. Pure: no socket, no file, no clock.

inline constexpr std::size_t kBoundaryMax = 70;  // RFC 2046
inline constexpr std::size_t kFormPartsMax = 32;
inline constexpr std::size_t kPartHeadBytesMax = 8 * 1024;
inline constexpr std::size_t kPartHeadersMax = 16;
inline constexpr std::size_t kPartNameMax = 256;       // bytes
inline constexpr std::size_t kFormPreambleMax = 1024;  // bytes before the first boundary

// The parsed headers of a part.
struct PartHead {
  std::string name;                      // never empty
  std::optional<std::string> file_name;  // as sent, paths and all; nullopt: a plain field
  std::string content_type;              // as sent; empty: none
  friend bool operator==(const PartHead&, const PartHead&) = default;
};

// Events of a form in order: each part begins, has bytes in pieces of any size, and ends. If a callback
// returns an error, parsing stops and `feed` returns that error.
class FormEvents {
 public:
  virtual ~FormEvents() = default;
  virtual base::Status part_begins(PartHead head) = 0;
  virtual base::Status part_bytes(std::string_view bytes) = 0;
  virtual base::Status part_ends() = 0;
};

// The boundary in a Content-Type. kUnsupportedType: it is not multipart/form-data. kBadRequest: the boundary
// is missing or malformed.
base::Result<std::string> form_boundary(std::string_view content_type);

// Incremental parser for one form. The events do not depend on how the input is split, except for the pieces
// of a part's bytes. Time is linear in the input. Lines end with CR LF. A boundary counts only at the start
// of a line, and only if its line ends after it. kBadRequest if the input is not a form or exceeds a limit
// above; the message says which. After an error every call returns that error.
class FormReader {
 public:
  // `events` must outlive it. REQUIRES: `boundary` is one that form_boundary returned.
  FormReader(std::string_view boundary, FormEvents& events);

  base::Status feed(std::string_view bytes);
  // The body has ended. Error: the last boundary is missing.
  base::Status finish();

 private:
  enum class Step : std::uint8_t {
    kPreamble,  // before the first boundary
    kContent,   // of a part
    kTail,      // after a boundary: checks that its line ends
    kHead,      // of a part
    kEpilogue,  // after the last boundary: dropped
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
  bool in_part_ = false;      // content belongs to a part, not to the preamble
  std::size_t matched_ = 2;   // matched bytes of the delimiter; a form begins as if after a line end
  std::size_t borrowed_ = 2;  // of these, bytes that are not content: the line end of the preceding line
  std::string tail_;          // bytes after the delimiter
  std::string line_;          // of a head, so far
  std::size_t preamble_bytes_ = 0, head_bytes_ = 0, headers_ = 0, parts_ = 0;
  std::optional<PartHead> part_;  // the head being read; set once its disposition has been read
  std::string part_type_;
  std::optional<base::Error> failed_;
};

}  // namespace millrace::front
