#include "ai/providers/wire_call.h"

#include <utility>

#include "ai/providers/wire_words.h"

namespace millrace::providers {
namespace {

// The path goes before the base URL's query, if it has one (Azure's api-version).
std::string joined(const std::string& base_url, const std::string& path) {
  const std::size_t query = base_url.find('?');
  std::string url = base_url.substr(0, query);
  while (url.ends_with('/')) url.pop_back();
  url.append(path);
  if (query == std::string::npos) return url;
  const bool has_query = path.find('?') != std::string::npos;
  return url.append(has_query ? "&" : "?").append(base_url, query + 1);
}

}  // namespace

net::HttpRequest http_request(const Target& target, WireRequest wire) {
  net::HttpRequest request;
  request.method = "POST";
  request.url = joined(target.base_url, wire.path);
  request.headers = std::move(wire.headers);
  if (!target.key.empty())
    request.headers.push_back(translation(target.preset->family).credential(target.key));
  request.headers.insert(request.headers.end(), target.headers.begin(), target.headers.end());
  request.body = std::move(wire.body);
  request.connect_timeout = target.timeouts.connect;
  request.first_byte_timeout = target.timeouts.first_byte;
  request.idle_timeout = target.timeouts.idle;
  request.total_timeout = target.timeouts.total;
  request.stall_timeout = std::chrono::seconds(0);
  request.identity_encoding = false;
  return request;
}

BodyForm body_form(int status, std::string_view content_type, bool stream) {
  if (status < 200 || status >= 300) return BodyForm::kError;
  if (content_type.starts_with("text/html")) return BodyForm::kForeign;
  if (!stream || content_type.starts_with("application/json")) return BodyForm::kWhole;
  const bool events = content_type.empty() || content_type.starts_with("text/event-stream");
  return events ? BodyForm::kEvents : BodyForm::kForeign;
}

base::Error fault(const Target& target, std::string_view what) {
  return base::error(base::Code::kUpstream, std::string(shown_name(target)).append(" ").append(what));
}

base::Error too_long(const Target& target, std::size_t bytes_max) {
  return fault(target, "sent a reply of more than " + std::to_string(bytes_max) + " bytes");
}

base::Error transport_error(const Target& target, const base::Error& error, std::size_t bytes_max) {
  if (error.code != base::Code::kTooLarge)
    return base::error(error.code, std::string(shown_name(target)) + ": " + error.message);
  return too_long(target, bytes_max);
}

}  // namespace millrace::providers
