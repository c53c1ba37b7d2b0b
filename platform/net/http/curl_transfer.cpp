#include "platform/net/http/curl_transfer.h"

#include <algorithm>
#include <cstdio>
#include <utility>

#include <arpa/inet.h>
#include <sys/socket.h>
#include <unistd.h>

#include "platform/net/http/http_text.h"

namespace millrace::net {

void CurlTransfer::prepare(Easy easy, Deadlines& deadlines, int& curl_calls) {
  deadlines_ = &deadlines;
  curl_calls_ = &curl_calls;
  received_at_ = std::chrono::steady_clock::now();
  if (request_.first_byte_timeout.count() > 0) watch(received_at_ + request_.first_byte_timeout);
  easy_ = std::move(easy);
  set(CURLOPT_PRIVATE, this);
  set(CURLOPT_URL, request_.url.c_str());
  set(CURLOPT_PROTOCOLS_STR, "http,https");
  set(CURLOPT_PROXY, "");
  set(CURLOPT_NOSIGNAL, 1L);
  set(CURLOPT_USERAGENT, "millrace/" MILLRACE_VERSION);
  if (!request_.identity_encoding) set(CURLOPT_ACCEPT_ENCODING, "");
  if (request_.own_connection) set(CURLOPT_FRESH_CONNECT, 1L);
  set_bounds();
  set_method();
  set_headers();
  set_callbacks();
}

void CurlTransfer::watch(Deadlines::TimePoint when) {
  unwatch();
  deadline_ = deadlines_->insert(when, *this);
}

void CurlTransfer::unwatch() {
  if (deadline_) deadlines_->erase(*std::exchange(deadline_, std::nullopt));
}

bool CurlTransfer::is_late() {
  deadline_.reset();
  const auto now = std::chrono::steady_clock::now();
  const auto due = (held_ ? now : received_at_) + request_.idle_timeout;
  late_ = broken_ == CURLE_OK && (!head_delivered_ || due <= now);
  if (late_ || broken_ != CURLE_OK) return true;
  watch(due);
  return false;
}

void CurlTransfer::resume_reading() {
  if (!is_running()) return;
  held_ = false;
  received_at_ = std::chrono::steady_clock::now();
  ++*curl_calls_;
  broken_ = curl_easy_pause(easy_.get(), CURLPAUSE_CONT);
  --*curl_calls_;
  if (broken_ != CURLE_OK && is_running()) watch(received_at_);  // curl does not end it then
}

void CurlTransfer::forget() {
  unwatch();
  handlers_ = {};
}

void CurlTransfer::set_bounds() {
  if (request_.read_buffer_bytes > 0) set(CURLOPT_BUFFERSIZE, static_cast<long>(request_.read_buffer_bytes));
  set(CURLOPT_CONNECTTIMEOUT_MS, static_cast<long>(request_.connect_timeout.count()));
  set(CURLOPT_TIMEOUT_MS, static_cast<long>(request_.total_timeout.count()));
  if (request_.stall_timeout.count() <= 0) return;
  set(CURLOPT_LOW_SPEED_LIMIT, 1L);
  set(CURLOPT_LOW_SPEED_TIME, static_cast<long>(request_.stall_timeout.count()));
}

void CurlTransfer::set_callbacks() {
  set(CURLOPT_HEADERFUNCTION, &CurlTransfer::on_header);
  set(CURLOPT_HEADERDATA, this);
  set(CURLOPT_WRITEFUNCTION, &CurlTransfer::on_body);
  set(CURLOPT_WRITEDATA, this);
  if (!request_.address_filter) return;
  set(CURLOPT_OPENSOCKETFUNCTION, &CurlTransfer::on_open_socket);
  set(CURLOPT_OPENSOCKETDATA, this);
  set(CURLOPT_PREREQFUNCTION, &CurlTransfer::on_connected);
  set(CURLOPT_PREREQDATA, this);
}

CurlTransfer::Link CurlTransfer::link() const {
  Link link;
  const char* peer = nullptr;
  long version = 0;
  curl_easy_getinfo(easy_.get(), CURLINFO_HTTP_VERSION, &version);
  if (version != CURL_HTTP_VERSION_2_0) return link;  // its connection is not shared
  curl_easy_getinfo(easy_.get(), CURLINFO_LOCAL_PORT, &link.port);
  curl_easy_getinfo(easy_.get(), CURLINFO_PRIMARY_IP, &peer);
  if (peer != nullptr) link.peer = peer;
  return link;
}

// Pausing and resuming changes the flow-control window. curl sends that immediately, together with all
// waiting data.
bool CurlTransfer::resend_window_update() {
  if (held_) return false;
  ++*curl_calls_;
  curl_easy_pause(easy_.get(), CURLPAUSE_RECV);
  broken_ = curl_easy_pause(easy_.get(), CURLPAUSE_CONT);
  --*curl_calls_;
  if (broken_ != CURLE_OK && is_running()) watch(received_at_);
  return true;
}

void CurlTransfer::finish(CURLcode code) {
  over = true;
  const bool is_whole = code == CURLE_OK && !too_large_;
  if (is_whole) deliver_head();
  unwatch();
  const auto done = std::move(handlers_.on_done);
  handlers_ = {};
  if (!done) return;
  if (is_whole || stopped_by_reader_) return done(std::move(reply_));
  base::Error error = error_of(broken_ == CURLE_OK ? code : broken_);
  // An upstream that refuses streams of new connections too is no closed connection.
  const bool refused = code == CURLE_SEND_FAIL_REWIND;
  error.is_unanswered = refused && !request_.own_connection;
  error.is_free = refused || connected_after() == 0;
  done(std::move(error));
}

void CurlTransfer::set_method() {
  if (request_.method == "HEAD") set(CURLOPT_NOBODY, 1L);
  const bool has_body = !request_.body.empty() || request_.method == "POST";
  if (request_.body_file >= 0) {
    set_file_body();
  } else if (has_body) {
    set(CURLOPT_POST, 1L);
    set(CURLOPT_POSTFIELDSIZE_LARGE, static_cast<curl_off_t>(request_.body.size()));
    request_.reports_unanswered ? set_one_reading() : set(CURLOPT_POSTFIELDS, request_.body.data());
  }
  if (request_.method != "GET" && request_.method != "HEAD")
    set(CURLOPT_CUSTOMREQUEST, request_.method.c_str());
}

void CurlTransfer::set_file_body() {
  set(CURLOPT_POST, 1L);
  set(CURLOPT_POSTFIELDSIZE_LARGE, static_cast<curl_off_t>(request_.body_file_bytes));
  set(CURLOPT_READFUNCTION, &CurlTransfer::on_read_file);
  set(CURLOPT_READDATA, this);
  curl_seek_callback seek = [](void* self, curl_off_t offset, int origin) {
    if (origin != SEEK_SET) return CURL_SEEKFUNC_FAIL;
    static_cast<CurlTransfer*>(self)->read_ = static_cast<std::size_t>(offset);
    return CURL_SEEKFUNC_OK;
  };
  set(CURLOPT_SEEKFUNCTION, seek);
  set(CURLOPT_SEEKDATA, this);
}

std::size_t CurlTransfer::on_read_file(char* to, std::size_t size, std::size_t count, void* self) {
  auto& transfer = *static_cast<CurlTransfer*>(self);
  const std::size_t rest = static_cast<std::size_t>(transfer.request_.body_file_bytes) - transfer.read_;
  const ssize_t bytes = ::pread(transfer.request_.body_file, to, std::min(size * count, rest),
                                static_cast<off_t>(transfer.read_));
  if (bytes < 0 || (bytes == 0 && rest > 0)) return CURL_READFUNC_ABORT;
  transfer.read_ += static_cast<std::size_t>(bytes);
  return static_cast<std::size_t>(bytes);
}

// A body that cannot be read twice. curl sends a request again if its connection was a kept one and closed
// without a byte of a response; it then fails with CURLE_SEND_FAIL_REWIND instead.
void CurlTransfer::set_one_reading() {
  set(CURLOPT_READFUNCTION, &CurlTransfer::on_read);
  set(CURLOPT_READDATA, this);
  curl_seek_callback refuse = [](void*, curl_off_t, int) { return CURL_SEEKFUNC_FAIL; };
  set(CURLOPT_SEEKFUNCTION, refuse);
}

std::size_t CurlTransfer::on_read(char* to, std::size_t size, std::size_t count, void* self) {
  auto& transfer = *static_cast<CurlTransfer*>(self);
  const std::size_t bytes = transfer.request_.body.copy(to, size * count, transfer.read_);
  transfer.read_ += bytes;
  return bytes;
}

void CurlTransfer::set_headers() {
  curl_slist* list = curl_slist_append(nullptr, "Expect:");
  if (request_.identity_encoding) list = curl_slist_append(list, "Accept-Encoding: identity");
  for (const auto& [name, value] : request_.headers) {
    std::string line = name;
    list = curl_slist_append(list, line.append(": ").append(value).c_str());
  }
  header_list_.reset(list);
  set(CURLOPT_HTTPHEADER, list);
}

base::Error CurlTransfer::error_of(CURLcode code) const {
  if (refused_) return *refused_;
  if (too_large_) return reply_too_large(request_.body_bytes_max);
  if (code == CURLE_SEND_FAIL_REWIND) return request_failed("the connection was closed without a reply");
  if (code == CURLE_OPERATION_TIMEDOUT) return timeout_error();
  return request_failed(curl_easy_strerror(code));
}

curl_off_t CurlTransfer::connected_after() const {
  curl_off_t connected = 0;
  curl_easy_getinfo(easy_.get(), CURLINFO_PRETRANSFER_TIME_T, &connected);
  return connected;
}

base::Error CurlTransfer::timeout_error() const {
  if (late_ && head_delivered_) return timed_out("the reply stopped", "idle", request_.idle_timeout);
  if (late_) return timed_out("no reply began", "first_byte", request_.first_byte_timeout);
  curl_off_t total = 0;
  curl_easy_getinfo(easy_.get(), CURLINFO_TOTAL_TIME_T, &total);
  const auto spent = std::chrono::milliseconds(total / 1'000 + 1);
  const auto bound = request_.total_timeout;
  if (bound.count() > 0 && spent >= bound) return timed_out("the reply did not end", "total", bound);
  if (connected_after() == 0) return timed_out("no connection was made", "connect", request_.connect_timeout);
  return timed_out("the reply stopped", "stall", request_.stall_timeout);
}

std::size_t CurlTransfer::on_header(char* data, std::size_t size, std::size_t count, void* self) {
  static_cast<CurlTransfer*>(self)->take_header(std::string_view(data, size * count));
  return size * count;
}

void CurlTransfer::take_header(std::string_view line) {
  if (line.starts_with("HTTP/")) {  // a new head (after 100 Continue)
    reply_.headers.clear();
    head_delivered_ = false;
    return;
  }
  const std::size_t colon = line.find(':');
  if (colon == std::string_view::npos || reply_.headers.size() >= 256) return;
  reply_.headers.emplace_back(lower_case(line.substr(0, colon)), trimmed(line.substr(colon + 1)));
}

void CurlTransfer::deliver_head() {
  if (std::exchange(head_delivered_, true)) return;
  long status = 0;
  curl_easy_getinfo(easy_.get(), CURLINFO_RESPONSE_CODE, &status);
  reply_.status = static_cast<int>(status);
  unwatch();
  drop_sent_body();
  if (request_.idle_timeout.count() > 0) watch(received_at_ + request_.idle_timeout);
  if (const auto on_head = std::move(handlers_.on_head)) on_head(reply_);  // it may cancel the transfer
}

// Once a response has begun, curl does not send the request again. So its body need not be kept until the
// response ends.
void CurlTransfer::drop_sent_body() {
  curl_off_t sent = 0;
  curl_easy_getinfo(easy_.get(), CURLINFO_SIZE_UPLOAD_T, &sent);
  if (sent == static_cast<curl_off_t>(request_.body.size())) std::string().swap(request_.body);
}

std::size_t CurlTransfer::on_body(char* data, std::size_t size, std::size_t count, void* self) {
  auto* transfer = static_cast<CurlTransfer*>(self);
  transfer->received_at_ = std::chrono::steady_clock::now();
  transfer->deliver_head();
  const auto& is_ready = transfer->handlers_.is_ready;
  transfer->held_ = is_ready && !is_ready();
  if (transfer->held_) return CURL_WRITEFUNC_PAUSE;
  return transfer->take_body(std::string_view(data, size * count)) ? size * count : 0;
}

bool CurlTransfer::take_body(std::string_view bytes) {
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

curl_socket_t CurlTransfer::on_open_socket(void* self, curlsocktype, curl_sockaddr* address) {
  if (!static_cast<CurlTransfer*>(self)->passes(address->addr)) return CURL_SOCKET_BAD;
  return ::socket(address->family, address->socktype | SOCK_CLOEXEC, address->protocol);
}

int CurlTransfer::on_connected(void* self, char* peer_ip, char*, int, int) {
  sockaddr_storage address{};
  auto* v4 = reinterpret_cast<sockaddr_in*>(&address);
  auto* v6 = reinterpret_cast<sockaddr_in6*>(&address);
  if (inet_pton(AF_INET, peer_ip, &v4->sin_addr) == 1) {
    v4->sin_family = AF_INET;
  } else if (inet_pton(AF_INET6, peer_ip, &v6->sin6_addr) == 1) {
    v6->sin6_family = AF_INET6;
  }
  const bool ok = static_cast<CurlTransfer*>(self)->passes(reinterpret_cast<const sockaddr&>(address));
  return ok ? CURL_PREREQFUNC_OK : CURL_PREREQFUNC_ABORT;
}

bool CurlTransfer::passes(const sockaddr& address) {
  const base::Status verdict = request_.address_filter(address);
  if (!verdict) refused_ = verdict.error();
  return verdict.has_value();
}

}  // namespace millrace::net
