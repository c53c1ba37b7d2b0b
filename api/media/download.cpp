#include "api/media/download.h"

#include <string_view>
#include <utility>

#include "api/headers.h"
#include "schemas/error_body.h"

namespace millrace::api {
namespace {

// The file name for the client: the last segment of the name, in two forms (RFC 6266).
std::string disposition_of(std::string_view name) {
  constexpr std::string_view kHex = "0123456789ABCDEF";
  name = name.substr(name.rfind('/') + 1);
  std::string plain, coded;
  for (const char c : name) {
    const auto byte = static_cast<unsigned char>(c);
    const bool word = (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
                      c == '.' || c == '_' || c == '-';
    plain += word ? c : '_';
    if (word) {
      coded += c;
    } else {
      coded.append({'%', kHex[byte >> 4], kHex[byte & 15]});
    }
  }
  return "attachment; filename=\"" + plain + "\"; filename*=UTF-8''" + coded;
}

std::string etag_of(const Download& download) { return '"' + download.sha256_hex + '"'; }

front::Reply rangeable(front::Reply reply) {
  add_header(reply, "accept-ranges", "bytes");
  return reply;
}

void refuse_range(Call& call, std::int64_t size) {
  constexpr int kUnsatisfied = 416;
  auto [content_type, body] = schemas::error_body(
      call.head().path, kUnsatisfied,
      "The file has " + std::to_string(size) + " bytes; the requested range contains none of them");
  front::Reply reply{.status = kUnsatisfied,
                     .content_type = std::move(content_type),
                     .headers = {},
                     .body = std::move(body)};
  add_header(reply, "content-range", "bytes */" + std::to_string(size));
  add_header(reply, "x-should-retry", "false");
  call.reply(std::move(reply));
}

}  // namespace

front::Reply download_reply(int status, const Download& download) {
  front::Reply reply{.status = status, .content_type = {}, .headers = {}, .body = {}};
  add_header(reply, "etag", etag_of(download));
  add_header(reply, "cache-control", "private, no-cache");
  if (status == 304) return reply;
  reply.content_type = download.mime_type;
  add_header(reply, "content-disposition", disposition_of(download.name));
  add_header(reply, "x-content-type-options", "nosniff");
  add_header(reply, "content-security-policy", "sandbox; default-src 'none'");
  return reply;
}

void answer_download(Call& call, const Download& download,
                     const std::function<void(ByteRange range, front::Reply head)>& send) {
  const std::string etag = etag_of(download);
  if (is_unchanged(call.head(), etag)) return call.reply(rangeable(download_reply(304, download)));
  const RangeChoice choice = choose_range(call.head(), etag, download.bytes);
  if (choice.kind == RangeChoice::Kind::kUnsatisfied) return refuse_range(call, download.bytes);
  const bool is_part = choice.kind == RangeChoice::Kind::kPart;
  const ByteRange range = is_part ? choice.range : ByteRange{0, download.bytes};
  front::Reply head = rangeable(download_reply(is_part ? 206 : 200, download));
  if (is_part) {
    add_header(head, "content-range",
               "bytes " + std::to_string(range.first) + "-" + std::to_string(range.first + range.count - 1) +
                   "/" + std::to_string(download.bytes));
  }
  send(range, std::move(head));
}

}  // namespace millrace::api
