#include <optional>
#include <string>

#include "ai/providers/content_part.h"
#include "platform/base/base64.h"
#include "schemas/chat/chat_request.h"
#include "schemas/json/json_body.h"
#include "schemas/json/url_text.h"
#include "schemas/media/ocr_request.h"
#include "tests/fuzz/fuzz.h"

// Data URIs of images, files and documents. The input is a URL.
namespace millrace {
namespace {

using fuzz::require;
using schemas::Json;

std::string body_of(const Json& value) {
  std::string body = value.dump(-1, ' ', false, Json::error_handler_t::replace);
  body.reserve(body.size() + schemas::kJsonPadding);
  return body;
}

std::optional<std::string> decoded_in_pieces(std::string_view text) {
  const auto [first, rest] = fuzz::two_pieces(text);
  std::string out(
      base::Base64Decoder::capacity(first.size()) + base::Base64Decoder::capacity(rest.size()) + 8, '\0');
  base::Base64Decoder decoder;
  std::size_t size = 0;
  for (const std::string_view piece : {first, rest}) {
    const auto more = decoder.decode(piece, out.data() + size);
    if (!more) return std::nullopt;
    size += *more;
  }
  const auto last = decoder.finish(out.data() + size);
  if (!last) return std::nullopt;
  out.resize(size + *last);
  return out;
}

void check_base64(std::string_view text) {
  const auto bytes = base::base64_decode(text);
  require(bytes.has_value() == base::is_base64(text), "base64 is what can be decoded");
  require(bytes == decoded_in_pieces(text), "base64 decodes to the same in pieces");
  if (bytes)
    require(base::base64_decode(base::base64_encode(*bytes)) == bytes, "bytes are the same after base64");
}

// A part that the parser accepts can be read by the translations, or they say why not.
void check_part(const char* type, const Json& part) {
  std::string body = body_of(
      {{"model", "m"},
       {"messages", {{{"role", "user"}, {"content", Json::array({{{"type", type}, {type, part}}})}}}}});
  const auto request = schemas::parse_chat_request(body);
  if (!request) return;
  providers::Parameters report(providers::Dialect::kOpenai, *request);
  const auto content = providers::read_content(&request->body["messages"][0]["content"], report);
  if (!content) {
    require(std::string_view(type) == "file" && content.error().code == base::Code::kInvalidField,
            "an accepted image can be read");
    return;
  }
  for (const providers::ContentPart& each : *content)
    if (each.kind == providers::ContentPart::Kind::kImage)
      require(each.base64.empty() || base::is_base64(each.base64), "an accepted image is base64");
}

void check_document(const std::string& url) {
  const std::string sent = body_of(
      {{"model", "mistral-ocr-latest"}, {"document", {{"type", "document_url"}, {"document_url", url}}}});
  std::string body = sent, for_quick = sent;
  body.reserve(sent.size() + schemas::kJsonPadding);
  for_quick.reserve(sent.size() + schemas::kJsonPadding);
  const auto tree = schemas::parse_ocr_request(body);
  const auto quick = schemas::read_ocr_request(for_quick);
  require(tree.has_value() == quick.has_value(), "both parsers accept the same documents");
  if (!tree) {
    require(tree.error().error.message == quick.error().error.message,
            "both parsers refuse for the same reason");
    return;
  }
  require(tree->base64 == quick->base64 && tree->is_data_uri == quick->is_data_uri,
          "both parsers read the same document");
}

void check_url(std::string_view url) {
  check_base64(url);
  if (const auto base64 = schemas::data_uri_base64(url)) check_base64(*base64);
  const std::string text(url);
  // One of the three, because parsing takes most of the time.
  if (url.size() % 3 == 0) check_part("image_url", {{"url", text}});
  if (url.size() % 3 == 1) check_part("file", {{"file_data", text}});
  if (url.size() % 3 == 2) check_document(text);
}

}  // namespace
}  // namespace millrace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  millrace::check_url(millrace::fuzz::text_of(data, size));
  return 0;
}
