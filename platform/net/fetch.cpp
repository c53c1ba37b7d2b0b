#include "platform/net/fetch.h"

#include <algorithm>
#include <atomic>
#include <charconv>
#include <utility>

#include <curl/curl.h>

#include "platform/net/http/http_text.h"

namespace millrace::net {
namespace {

constexpr std::chrono::milliseconds kTryAgainAfter{1'000};

base::Error failed(std::string why, bool transient) {
  base::Error error =
      base::error(base::Code::kFetchFailed, "document_url: " + std::move(why), "document_url");
  if (transient) error.retry_after = kTryAgainAfter;
  return error;
}

std::int64_t declared_bytes(const HttpReply& head) {
  const std::string_view text = head.header("content-length");
  std::int64_t bytes = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), bytes);
  return error == std::errc{} && bytes > 0 ? bytes : 0;
}

}  // namespace

bool is_redirect(int status) {
  return status == 301 || status == 302 || status == 303 || status == 307 || status == 308;
}

std::string resolve_location(const std::string& base, std::string_view location) {
  const std::unique_ptr<CURLU, void (*)(CURLU*)> url(curl_url(), curl_url_cleanup);
  if (location.empty() || curl_url_set(url.get(), CURLUPART_URL, base.c_str(), 0) != CURLUE_OK) return {};
  if (curl_url_set(url.get(), CURLUPART_URL, std::string(location).c_str(), 0) != CURLUE_OK) return {};
  char* text = nullptr;
  if (curl_url_get(url.get(), CURLUPART_URL, &text, 0) != CURLUE_OK) return {};
  std::string out = text;
  curl_free(text);
  return out;
}

// A download with its redirects. Used only on the loop's thread, except for the cancel flag.
class Fetch::Running : public std::enable_shared_from_this<Running> {
 public:
  Running(HttpClient& client, const FetchGuard& guard, FetchLimits limits, FetchHandlers receiver)
      : client_(client),
        guard_(guard),
        limits_(limits),
        receiver_(std::move(receiver)),
        deadline_(std::chrono::steady_clock::now() + limits.total_timeout) {}

  void hop(const std::string& url) {
    if (cancelled_) return;
    base::Result<FetchTarget> target = guard_.check_url(url);
    if (!target) return end(target.error());
    HttpClient::Handlers handlers = pieces();
    handlers.on_done = [self = shared_from_this(), url = target->url](base::Result<HttpReply> reply) {
      self->on_reply(url, std::move(reply));
    };
    transfer_ = client_.start(request(*std::move(target)), std::move(handlers));
  }

  void resume() {
    if (transfer_) HttpClient::resume(*transfer_);
  }

  void cancel() {
    cancelled_ = true;
    receiver_ = {};
    if (transfer_) client_.cancel(std::exchange(transfer_, nullptr));
  }

 private:
  // The bodies of redirects and errors are dropped, but they count against the limit too.
  HttpClient::Handlers pieces() {
    HttpClient::Handlers handlers;
    handlers.on_head = [self = shared_from_this()](const HttpReply& head) {
      self->is_document_ = head.status == 200;
      if (!self->is_document_ || !self->receiver_.on_begin) return;
      const auto most = static_cast<std::int64_t>(self->limits_.bytes_max);
      self->receiver_.on_begin(std::min(declared_bytes(head), most));
    };
    handlers.is_ready = [self = shared_from_this()] {
      return !self->is_document_ || !self->receiver_.is_ready || self->receiver_.is_ready();
    };
    handlers.on_data = [self = shared_from_this()](std::string_view bytes) {
      return !self->is_document_ || !self->receiver_.on_data || self->receiver_.on_data(bytes);
    };
    return handlers;
  }

  HttpRequest request(FetchTarget target) const {
    HttpRequest request;
    request.url = target.url;
    request.headers = {{"Accept", "application/pdf, image/*;q=0.9, */*;q=0.5"}};
    request.connect_timeout = limits_.connect_timeout;
    request.stall_timeout = limits_.stall_timeout;
    request.body_bytes_max = limits_.bytes_max;
    const auto left =
        std::chrono::ceil<std::chrono::milliseconds>(deadline_ - std::chrono::steady_clock::now());
    request.total_timeout = std::max(left, std::chrono::milliseconds(1));
    request.address_filter = [guard = &guard_, target = std::move(target)](const sockaddr& address) {
      return guard->check_address(target, address);
    };
    return request;
  }

  void on_reply(const std::string& url, base::Result<HttpReply> reply) {
    transfer_ = nullptr;
    if (!reply) return end(error_of(reply.error()));
    if (is_redirect(reply->status)) {
      if (++redirects_ > limits_.redirects_max) {
        return end(failed("more than " + std::to_string(limits_.redirects_max) + " redirects", false));
      }
      const std::string next = resolve_location(url, reply->header("location"));
      return next.empty() ? end(failed("a redirect has no valid location", false)) : hop(next);
    }
    if (reply->status != 200) {
      const bool transient = reply->status == 429 || reply->status >= 500;
      return end(failed("the server answered " + std::to_string(reply->status), transient));
    }
    end({});
  }

  base::Error error_of(const base::Error& error) const {
    if (error.code == base::Code::kFetchRefused) return error;
    if (error.code == base::Code::kTooLarge) {
      return base::error(base::Code::kDocumentTooLarge,
                         "the document is larger than " + std::to_string(limits_.bytes_max >> 20) + " MB",
                         "document_url");
    }
    if (error.code == base::Code::kUpstreamTimeout &&
        std::chrono::steady_clock::now() >= deadline_ - std::chrono::milliseconds(2)) {
      // The time-out of the last hop was only the remaining time, and curl counts whole milliseconds. So the
      // error names the total time-out.
      return failed(timed_out("the document did not end", "total", limits_.total_timeout).message, true);
    }
    return failed(error.message, true);
  }

  void end(base::Status status) {
    const auto done = std::exchange(receiver_, {}).on_done;
    if (done) done(std::move(status));
  }

  HttpClient& client_;
  const FetchGuard& guard_;
  FetchLimits limits_;
  FetchHandlers receiver_;
  std::chrono::steady_clock::time_point deadline_;
  std::shared_ptr<HttpClient::Transfer> transfer_;
  int redirects_ = 0;
  bool is_document_ = false;
  std::atomic<bool> cancelled_{false};
};

Fetch::Fetch(Loop& loop, HttpClient& client, const FetchGuard& guard, FetchLimits limits)
    : loop_(loop), client_(client), guard_(guard), limits_(limits) {}

std::shared_ptr<Fetch::Running> Fetch::start(std::string url, FetchHandlers receiver) {
  auto running = std::make_shared<Running>(client_, guard_, limits_, std::move(receiver));
  loop_.post([running, url = std::move(url)] { running->hop(url); });
  return running;
}

void Fetch::resume(Running& running) { running.resume(); }

void Fetch::cancel(const std::shared_ptr<Running>& running) {
  loop_.post([running] { running->cancel(); });
}

}  // namespace millrace::net
