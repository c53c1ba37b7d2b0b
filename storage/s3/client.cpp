#include "storage/s3/client.h"

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <condition_variable>
#include <future>
#include <memory>
#include <mutex>
#include <optional>
#include <string_view>
#include <utility>

#include <unistd.h>

#include "platform/base/ids.h"
#include "platform/base/log.h"
#include "storage/blobs/blobs.h"

namespace millrace::s3 {
namespace {

constexpr std::string_view kNoPayload = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";
constexpr std::string_view kChecksum = "x-amz-checksum-sha256";
constexpr std::size_t kReplyBytesMax = 4u << 20;  // of a listing or an error
constexpr int kListedMax = 1'000;

constexpr int kOk = 200, kTooManyRequests = 429, kRequestTimeout = 408, kNotImplemented = 501;

bool is_transient(int status) {
  return status == kTooManyRequests || status == kRequestTimeout ||
         (status >= 500 && status != kNotImplemented);
}

base::Error unavailable(const std::string& why) {
  base::Error e = base::error(base::Code::kOverloaded, why);
  e.retry_after = std::chrono::seconds(5);
  return e;
}

base::Error stopped_error() { return unavailable("the gateway is stopping"); }

base::Status write_at(int file, std::string_view bytes, std::int64_t at) {
  while (!bytes.empty()) {
    const ssize_t written = ::pwrite(file, bytes.data(), bytes.size(), at);
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return storage::file_error(errno, "write an object of the object store");
    bytes.remove_prefix(static_cast<std::size_t>(written));
    at += written;
  }
  return {};
}

// Receives the content of an object, or the text of an error.
struct Download {
  int file = -1, status = 0;
  std::int64_t bytes = 0;
  std::string error_text = {};
  base::Status written = {};

  void begin(int reply_status) {
    status = reply_status;
    bytes = 0;
    error_text.clear();
  }
  bool take(std::string_view piece) {
    if (status != kOk) return error_text.append(piece).size() <= kReplyBytesMax;
    written = write_at(file, piece, bytes);
    bytes += static_cast<std::int64_t>(piece.size());
    return written.has_value();
  }
};

}  // namespace

struct Client::Call {
  std::string method, path;
  std::map<std::string, std::string> query = {}, headers = {};
  std::string payload_sha256_hex = std::string(kNoPayload);
  int file = -1;  // the payload
  std::int64_t bytes = 0;
  Download* download = nullptr;
};

namespace {

base::Error refused(const Client::Call& call, int status, std::string_view text) {
  base::Error error = reply_error(status, text);
  if (error.code != base::Code::kNotFound) {
    base::log_error("s3_request_refused", {{"method", call.method},
                                           {"path", call.path},
                                           {"status", status},
                                           {"code", element_text(text, "Code")},
                                           {"error", error.message}});
  }
  return error;
}

}  // namespace

Client::Client(Location location, Credentials credentials, Bounds bounds)
    : location_(std::move(location)), credentials_(std::move(credentials)), bounds_(bounds) {}

Client::~Client() { stop(); }

base::Status Client::put(const std::string& key, int file, std::int64_t bytes,
                         const std::string& sha256_hex) {
  Call call{
      .method = "PUT", .path = path_of(key), .payload_sha256_hex = sha256_hex, .file = file, .bytes = bytes};
  call.headers["content-type"] = "application/octet-stream";
  const auto reply = perform_with_checksum(call, std::string(kChecksum), base64_of_hex(sha256_hex));
  if (!reply) return reply.error();
  if (reply->status != kOk) return refused(call, reply->status, reply->body);
  const std::string_view checksum = reply->header(kChecksum);
  if (!checksum.empty() && checksum != base64_of_hex(sha256_hex))
    return unavailable("the object store of blobs.endpoint has stored other bytes than were sent");
  return verify(key, bytes, *reply);
}

base::Status Client::verify(const std::string& key, std::int64_t bytes, const net::HttpReply& put) {
  const Call call{.method = "HEAD", .path = path_of(key)};
  const auto reply = perform(call);
  if (!reply) return reply.error();
  const bool is_whole = reply->status == kOk && reply->header("content-length") == std::to_string(bytes) &&
                        reply->header("etag") == put.header("etag");
  if (is_whole) return {};
  base::log_error("s3_object_not_stored", {{"key", key}, {"status", reply->status}, {"bytes", bytes}});
  return unavailable("the object store of blobs.endpoint did not store an object whole");
}

base::Status Client::get(const std::string& key, std::int64_t bytes, int file) {
  Download download{.file = file};
  const Call call{.method = "GET", .path = path_of(key), .bytes = bytes, .download = &download};
  const auto reply = perform(call);
  if (!download.written) return download.written;
  if (!reply) return reply.error();
  if (reply->status != kOk) return refused(call, reply->status, download.error_text);
  if (download.bytes == bytes) return {};
  return base::error(base::Code::kStoredDamaged,
                     "A stored file that this request needs has a wrong size in the object store");
}

base::Result<ObjectInfo> Client::find(const std::string& key) {
  Call call{.method = "HEAD", .path = path_of(key)};
  const auto reply = perform_with_checksum(call, "x-amz-checksum-mode", "ENABLED");
  if (!reply) return reply.error();
  if (reply->status != kOk) return refused(call, reply->status, reply->body);
  ObjectInfo found{.sha256_base64 = std::string(reply->header(kChecksum))};
  const std::string_view bytes = reply->header("content-length");
  std::from_chars(bytes.data(), bytes.data() + bytes.size(), found.bytes);
  return found;
}

base::Status Client::remove(const std::string& key) {
  const Call call{.method = "DELETE", .path = path_of(key)};
  const auto reply = perform(call);
  if (!reply) return reply.error();
  if (reply->status / 100 == 2) return {};
  base::Error error = refused(call, reply->status, reply->body);
  if (error.code == base::Code::kNotFound) return {};
  return error;
}

Client::Call Client::list_call(const std::string& continuation, int limit) const {
  Call call{.method = "GET", .path = "/" + location_.bucket};
  call.query["list-type"] = "2";
  call.query["max-keys"] = std::to_string(std::clamp(limit, 1, kListedMax));
  if (!location_.prefix.empty()) call.query["prefix"] = location_.prefix;
  if (!continuation.empty()) call.query["continuation-token"] = continuation;
  return call;
}

BucketCheck Client::check() {
  const Call call = list_call({}, 1);
  const auto reply = attempt(call);
  if (!reply) return {unavailable("blobs.endpoint cannot be reached: " + reply.error().message), {}};
  if (is_transient(reply->status)) return {reply_error(reply->status, reply->body), {}};
  if (reply->status != kOk) return {{}, refused(call, reply->status, reply->body)};
  return {};
}

base::Result<Listing> Client::list(const std::string& continuation, int limit) {
  const Call call = list_call(continuation, limit);
  const auto reply = perform(call);
  if (!reply) return reply.error();
  if (reply->status != kOk) return refused(call, reply->status, reply->body);
  Listing listing = parse_listing(reply->body);
  std::erase_if(listing.objects, [&](const ListedObject& o) { return !o.key.starts_with(location_.prefix); });
  for (ListedObject& object : listing.objects) object.key.erase(0, location_.prefix.size());
  return listing;
}

base::Result<net::HttpReply> Client::perform(const Call& call) {
  for (int number = 1;; ++number) {
    auto reply = attempt(call);
    if (reply && !is_transient(reply->status)) return reply;
    const std::string why = reply ? "status " + std::to_string(reply->status) : reply.error().message;
    if (stop_.stop_requested()) return stopped_error();
    if (number < bounds_.attempts_max && wait_before(number + 1)) continue;
    base::log_warn("s3_request_failed",
                   {{"method", call.method}, {"path", call.path}, {"attempts", number}, {"error", why}});
    return unavailable("the object store of blobs.endpoint does not answer");
  }
}

base::Result<net::HttpReply> Client::perform_with_checksum(Call& call, const std::string& header,
                                                           const std::string& value) {
  if (!sends_checksum_) return perform(call);
  call.headers[header] = value;
  auto reply = perform(call);
  if (!reply || reply->status != kNotImplemented) return reply;
  sends_checksum_ = false;
  call.headers.erase(header);
  return perform(call);
}

bool Client::wait_before(int attempt) {
  const auto wait = bounds_.retry_wait * (1 << std::min(attempt - 2, 8));
  const std::string random = base::random_bytes(1);
  const auto jitter = wait / 2 * static_cast<unsigned char>(random.front()) / 255;
  std::mutex mutex;
  std::condition_variable_any ended;
  std::unique_lock lock(mutex);
  ended.wait_for(lock, stop_.get_token(), wait / 2 + jitter, [] { return false; });
  return !stop_.stop_requested();
}

net::HttpRequest Client::request_of(const Call& call) const {
  const SignedParts parts{.method = call.method,
                          .host = location_.host,
                          .path = call.path,
                          .query = call.query,
                          .payload_sha256_hex = call.payload_sha256_hex,
                          .headers = call.headers};
  net::HttpRequest request;
  request.method = call.method;
  request.url = location_.endpoint + uri_encoded(call.path, true);
  if (!call.query.empty()) request.url += "?" + query_text(call.query);
  request.headers = sign(parts, credentials_, clock_.wall());
  request.body_file = call.file;
  request.body_file_bytes = call.file < 0 ? 0 : call.bytes;
  request.connect_timeout = bounds_.connect_timeout;
  request.total_timeout = bounds_.reply_timeout + std::chrono::seconds(call.bytes >> 20);
  request.stall_timeout = bounds_.stall_timeout;
  request.body_bytes_max =
      kReplyBytesMax + static_cast<std::size_t>(call.download == nullptr ? 0 : call.bytes);
  return request;
}

// Waits for the reply, or until `stop`; the transfer has then ended, too.
base::Result<net::HttpReply> Client::attempt(const Call& call) {
  struct Waiting {
    std::mutex mutex;
    std::condition_variable_any ended;
    std::optional<base::Result<net::HttpReply>> reply;
  };
  auto waiting = std::make_shared<Waiting>();
  net::HttpClient::Handlers handlers;
  if (call.download != nullptr) {
    handlers.on_head = [to = call.download](const net::HttpReply& reply) { to->begin(reply.status); };
    handlers.on_data = [to = call.download](std::string_view piece) { return to->take(piece); };
  }
  handlers.on_done = [waiting](base::Result<net::HttpReply> reply) {
    const std::lock_guard lock(waiting->mutex);
    waiting->reply = std::move(reply);
    waiting->ended.notify_all();
  };
  const auto transfer = http_.start(request_of(call), std::move(handlers));
  {
    std::unique_lock lock(waiting->mutex);
    if (waiting->ended.wait(lock, stop_.get_token(), [&] { return waiting->reply.has_value(); }))
      return *std::move(waiting->reply);
  }
  http_.cancel(transfer);
  std::promise<void> cancelled;
  loop_.post([&cancelled] { cancelled.set_value(); });
  cancelled.get_future().wait();
  return stopped_error();
}

std::string Client::path_of(const std::string& key) const {
  return "/" + location_.bucket + "/" + location_.prefix + key;
}

}  // namespace millrace::s3
