#include "platform/net/http_transfer.h"

#include <cctype>
#include <utility>

#include <arpa/inet.h>
#include <sys/socket.h>

namespace millrace::net {
namespace {

std::string lower(std::string_view text) {
  std::string out(text);
  for (char& c : out) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return out;
}

std::string_view trim(std::string_view text) {
  while (!text.empty() && std::isspace(static_cast<unsigned char>(text.front()))) text.remove_prefix(1);
  while (!text.empty() && std::isspace(static_cast<unsigned char>(text.back()))) text.remove_suffix(1);
  return text;
}

}  // namespace

void HttpClient::Transfer::prepare() {
  easy_.reset(curl_easy_init());
  set(CURLOPT_PRIVATE, this);
  set(CURLOPT_URL, request_.url.c_str());
  set(CURLOPT_PROTOCOLS_STR, "http,https");
  set(CURLOPT_PROXY, "");
  set(CURLOPT_NOSIGNAL, 1L);
  set(CURLOPT_USERAGENT, "millrace/" MILLRACE_VERSION);
  if (!request_.identity_encoding) set(CURLOPT_ACCEPT_ENCODING, "");
  set_bounds();
  set_method();
  set_headers();
  set_callbacks();
}

void HttpClient::Transfer::set_bounds() {
  set(CURLOPT_CONNECTTIMEOUT_MS, static_cast<long>(request_.connect_timeout.count()));
  set(CURLOPT_TIMEOUT_MS, static_cast<long>(request_.total_timeout.count()));
  if (request_.stall_timeout.count() <= 0) return;
  set(CURLOPT_LOW_SPEED_LIMIT, 1L);
  set(CURLOPT_LOW_SPEED_TIME, static_cast<long>(request_.stall_timeout.count()));
}

void HttpClient::Transfer::set_callbacks() {
  set(CURLOPT_HEADERFUNCTION, &Transfer::on_header);
  set(CURLOPT_HEADERDATA, this);
  set(CURLOPT_WRITEFUNCTION, &Transfer::on_body);
  set(CURLOPT_WRITEDATA, this);
  if (!request_.vet) return;
  set(CURLOPT_OPENSOCKETFUNCTION, &Transfer::on_open_socket);
  set(CURLOPT_OPENSOCKETDATA, this);
  set(CURLOPT_PREREQFUNCTION, &Transfer::on_connected);
  set(CURLOPT_PREREQDATA, this);
}

void HttpClient::Transfer::finish(CURLcode code) {
  over = true;
  long status = 0;
  curl_easy_getinfo(easy_.get(), CURLINFO_RESPONSE_CODE, &status);
  reply_.status = static_cast<int>(status);
  const auto done = std::move(handlers_.on_done);
  handlers_ = {};
  if (!done) return;
  if ((code == CURLE_OK && !too_large_) || stopped_by_reader_) return done(std::move(reply_));
  done(error_of(code));
}

void HttpClient::Transfer::set_method() {
  if (request_.method == "HEAD") set(CURLOPT_NOBODY, 1L);
  const bool has_body = !request_.body.empty() || request_.method == "POST";
  if (has_body) {
    set(CURLOPT_POST, 1L);
    set(CURLOPT_POSTFIELDSIZE_LARGE, static_cast<curl_off_t>(request_.body.size()));
    set(CURLOPT_POSTFIELDS, request_.body.data());
  }
  if (request_.method != "GET" && request_.method != "HEAD")
    set(CURLOPT_CUSTOMREQUEST, request_.method.c_str());
}

void HttpClient::Transfer::set_headers() {
  curl_slist* list = curl_slist_append(nullptr, "Expect:");
  if (request_.identity_encoding) list = curl_slist_append(list, "Accept-Encoding: identity");
  for (const auto& [name, value] : request_.headers) {
    std::string line = name;
    list = curl_slist_append(list, line.append(": ").append(value).c_str());
  }
  header_list_.reset(list);
  set(CURLOPT_HTTPHEADER, list);
}

base::Error HttpClient::Transfer::error_of(CURLcode code) const {
  if (refused_) return *refused_;
  if (too_large_) {
    return base::error(base::Code::kTooLarge,
                       "the reply is larger than " + std::to_string(request_.body_bytes_max) + " bytes");
  }
  if (code == CURLE_OPERATION_TIMEDOUT)
    return base::error(base::Code::kUpstreamTimeout, "the server did not answer in time");
  return base::error(base::Code::kUpstream, std::string("request failed: ") + curl_easy_strerror(code));
}

std::size_t HttpClient::Transfer::on_header(char* data, std::size_t size, std::size_t count, void* self) {
  static_cast<Transfer*>(self)->take_header(std::string_view(data, size * count));
  return size * count;
}

void HttpClient::Transfer::take_header(std::string_view line) {
  if (line.starts_with("HTTP/")) {  // a new head (after 100 Continue)
    reply_.headers.clear();
    head_told_ = false;
    return;
  }
  const std::size_t colon = line.find(':');
  if (colon == std::string_view::npos || reply_.headers.size() >= 256) return;
  reply_.headers.emplace_back(lower(line.substr(0, colon)), trim(line.substr(colon + 1)));
}

void HttpClient::Transfer::tell_head() {
  if (std::exchange(head_told_, true)) return;
  long status = 0;
  curl_easy_getinfo(easy_.get(), CURLINFO_RESPONSE_CODE, &status);
  reply_.status = static_cast<int>(status);
  if (handlers_.on_head) handlers_.on_head(reply_);
}

std::size_t HttpClient::Transfer::on_body(char* data, std::size_t size, std::size_t count, void* self) {
  auto* transfer = static_cast<Transfer*>(self);
  transfer->tell_head();
  const auto& is_ready = transfer->handlers_.is_ready;
  if (is_ready && !is_ready()) return CURL_WRITEFUNC_PAUSE;
  return transfer->take_body(std::string_view(data, size * count)) ? size * count : 0;
}

bool HttpClient::Transfer::take_body(std::string_view bytes) {
  received_ += bytes.size();
  too_large_ = received_ > request_.body_bytes_max;
  if (too_large_) return false;
  if (handlers_.on_data) {
    stopped_by_reader_ = !handlers_.on_data(bytes);
    return !stopped_by_reader_;
  }
  reply_.body.append(bytes);
  return true;
}

curl_socket_t HttpClient::Transfer::on_open_socket(void* self, curlsocktype, curl_sockaddr* address) {
  if (!static_cast<Transfer*>(self)->passes(address->addr)) return CURL_SOCKET_BAD;
  return ::socket(address->family, address->socktype | SOCK_CLOEXEC, address->protocol);
}

int HttpClient::Transfer::on_connected(void* self, char* peer_ip, char*, int, int) {
  sockaddr_storage address{};
  auto* v4 = reinterpret_cast<sockaddr_in*>(&address);
  auto* v6 = reinterpret_cast<sockaddr_in6*>(&address);
  if (inet_pton(AF_INET, peer_ip, &v4->sin_addr) == 1) {
    v4->sin_family = AF_INET;
  } else if (inet_pton(AF_INET6, peer_ip, &v6->sin6_addr) == 1) {
    v6->sin6_family = AF_INET6;
  }
  const bool ok = static_cast<Transfer*>(self)->passes(reinterpret_cast<const sockaddr&>(address));
  return ok ? CURL_PREREQFUNC_OK : CURL_PREREQFUNC_ABORT;
}

bool HttpClient::Transfer::passes(const sockaddr& address) {
  const base::Status verdict = request_.vet(address);
  if (!verdict) refused_ = verdict.error();
  return verdict.has_value();
}

}  // namespace millrace::net
