#include "schemas/form_body.h"

#include "platform/base/crypto.h"
#include "platform/base/ids.h"

namespace millrace::schemas {
namespace {

constexpr std::size_t kBoundaryBytes = 16;

// Quotes a name in the way browsers do.
void append_quoted(std::string& out, std::string_view text) {
  out += '"';
  for (const char c : text) {
    switch (c) {
      case '"':
        out += "%22";
        break;
      case '\r':
        out += "%0D";
        break;
      case '\n':
        out += "%0A";
        break;
      default:
        out += c;
    }
  }
  out += '"';
}

}  // namespace

FormBody::FormBody(std::string& body)
    : body_(body), boundary_("millrace-" + base::hex(base::random_bytes(kBoundaryBytes))) {}

void FormBody::begin(std::string_view name) {
  if (!body_.empty()) body_.append("\r\n");
  body_.append("--").append(boundary_).append("\r\nContent-Disposition: form-data; name=");
  append_quoted(body_, name);
}

void FormBody::field(std::string_view name, std::string_view value) {
  begin(name);
  body_.append("\r\n\r\n").append(value);
}

void FormBody::file(std::string_view name, std::string_view file_name) {
  begin(name);
  body_.append("; filename=");
  append_quoted(body_, file_name);
  body_.append("\r\nContent-Type: application/octet-stream\r\n\r\n");
}

void FormBody::end() { body_.append("\r\n--").append(boundary_).append("--\r\n"); }

}  // namespace millrace::schemas
