#include "platform/net/http/curl_transport.h"

#include <unordered_map>
#include <utility>

#include <asio/steady_timer.hpp>
#include <curl/curl.h>

#include "platform/base/log.h"
#include "platform/net/http/curl_transfer.h"
#include "platform/net/http/http_transport.h"
#include "platform/net/loop_impl.h"
#include "platform/net/socket_set.h"

namespace millrace::net {

Easy SpareHandles::take(std::size_t buffer_bytes) {
  auto& spare = spare_[buffer_bytes];
  if (spare.empty()) return Easy(curl_easy_init());
  Easy easy = std::move(spare.back());
  spare.pop_back();
  return easy;
}

void SpareHandles::keep(Easy easy, std::size_t buffer_bytes) {
  auto& spare = spare_[buffer_bytes];
  if (!easy || spare.size() >= kKeptMax) return;
  curl_easy_reset(easy.get());
  spare.push_back(std::move(easy));
}

namespace {

constexpr long kIdleConnectionsMax = 256;  // over all hosts

// Drives curl's multi interface with the loop. Call only while the run lock is held.
class CurlTransport final : public HttpTransport, public std::enable_shared_from_this<CurlTransport> {
 public:
  explicit CurlTransport(Loop& loop)
      : loop_(loop),
        timer_(loop.impl().context),
        deadlines_(loop.impl(),
                   [this](HttpClient::Transfer& late) { due(static_cast<CurlTransfer&>(late)); }),
        sockets_(loop.impl(), [this](int fd, bool in, bool out) { return ready(fd, in, out); }),
        multi_(curl_multi_init()) {
    curl_multi_setopt(multi_, CURLMOPT_MAXCONNECTS, kIdleConnectionsMax);
    curl_multi_setopt(multi_, CURLMOPT_SOCKETFUNCTION, &CurlTransport::on_socket);
    curl_multi_setopt(multi_, CURLMOPT_SOCKETDATA, this);
    curl_multi_setopt(multi_, CURLMOPT_TIMERFUNCTION, &CurlTransport::on_timer);
    curl_multi_setopt(multi_, CURLMOPT_TIMERDATA, this);
  }

  TransferPtr make(HttpRequest request, HttpClient::Handlers handlers) override {
    auto transfer = std::make_shared<CurlTransfer>(std::move(request), std::move(handlers));
    transfer->is_curl = true;
    return transfer;
  }

  void add(const TransferPtr& of) override {
    const auto transfer = std::static_pointer_cast<CurlTransfer>(of);
    if (closed_ || transfer->cancelled) return;
    transfer->prepare(spare_.take(transfer->read_buffer_bytes()), deadlines_, curl_calls_);
    transfer->started = true;
    running_[transfer->easy()] = transfer;
    curl_multi_add_handle(multi_, transfer->easy());
  }

  void remove(const TransferPtr& of) override {
    const auto transfer = std::static_pointer_cast<CurlTransfer>(of);
    transfer->cancelled = transfer->over = true;
    transfer->forget();
    if (!transfer->started || running_.erase(transfer->easy()) == 0) return;
    end_upstream(*transfer);
  }

  // True while curl is calling us; it must not be called recursively.
  bool is_busy() const override { return curl_calls_ > 0; }

  void close() override {
    closed_ = true;
    for (auto& [easy, transfer] : running_) {
      transfer->over = true;
      transfer->forget();
      curl_multi_remove_handle(multi_, easy);
    }
    running_.clear();
    timer_.cancel();
    deadlines_.close();
    curl_multi_cleanup(multi_);
    sockets_.close();
    multi_ = nullptr;
  }

 private:
  static int on_socket(CURL*, curl_socket_t fd, int what, void* self, void*) {
    static_cast<CurlTransport*>(self)->watch(fd, what);
    return 0;
  }
  static int on_timer(CURLM*, long timeout_ms, void* self) {
    static_cast<CurlTransport*>(self)->arm_timer(timeout_ms);
    return 0;
  }

  void watch(curl_socket_t fd, int what) {
    if (what == CURL_POLL_REMOVE) return sockets_.forget(fd);
    sockets_.watch(fd, (what & CURL_POLL_IN) != 0, (what & CURL_POLL_OUT) != 0);
  }

  // Returns false, because curl does not report whether it has read everything.
  bool ready(int fd, bool readable, bool writable) {
    act(fd, (readable ? CURL_CSELECT_IN : 0) | (writable ? CURL_CSELECT_OUT : 0));
    return false;
  }

  // A time-out of 0 comes with every request. It is posted on the loop's thread, which needs no system call.
  // A timer that fires too early is harmless, so moving it to a later time costs nothing.
  void arm_timer(long timeout_ms) {
    if (timeout_ms < 0) return;
    if (timeout_ms == 0) {
      if (!std::exchange(kicked_, true)) loop_.post([self = shared_from_this()] { self->kick(); });
      return;
    }
    const auto when = std::chrono::steady_clock::now() + std::chrono::milliseconds(timeout_ms);
    if (armed_ <= when) return;
    armed_ = when;
    timer_.expires_at(when);
    timer_.async_wait(with_run_lock(loop_.impl(), [self = shared_from_this()](asio::error_code error) {
      if (error) return;
      self->armed_ = std::chrono::steady_clock::time_point::max();
      self->act(CURL_SOCKET_TIMEOUT, 0);
    }));
  }

  void kick() {
    kicked_ = false;
    act(CURL_SOCKET_TIMEOUT, 0);
  }

  void act(curl_socket_t fd, int event) {
    if (multi_ == nullptr) return;
    int still_running = 0;
    ++curl_calls_;
    curl_multi_socket_action(multi_, fd, event, &still_running);
    --curl_calls_;
    collect();
  }

  void due(CurlTransfer& late) {
    const auto found = running_.find(late.easy());
    if (found == running_.end() || !late.is_late()) return;
    const std::shared_ptr<CurlTransfer> transfer = found->second;
    running_.erase(found);
    end_upstream(*transfer);
    finish(*transfer, CURLE_OPERATION_TIMEDOUT);
  }

  // Makes sure that the server notices the end immediately. A connection that is not shared is closed. On a
  // shared one (HTTP/2) the stream is reset. curl 7.88 and later delays the reset until another stream sends
  // something, so another stream is made to send.
  void end_upstream(const CurlTransfer& transfer) {
    const CurlTransfer::Link link = transfer.link();
    curl_easy_setopt(transfer.easy(), CURLOPT_FORBID_REUSE, 1L);
    ++curl_calls_;
    curl_multi_remove_handle(multi_, transfer.easy());
    --curl_calls_;
    if (link.port == 0) return;  // unknown, or not shared
    for (const auto& [easy, other] : running_) {
      if (other->link() == link && other->resend_window_update()) return;
    }
  }

  void finish(CurlTransfer& transfer, CURLcode code) {
    transfer.finish(code);
    spare_.keep(transfer.take_easy(), transfer.read_buffer_bytes());
  }

  void collect() {
    int left = 0;
    while (multi_ != nullptr) {
      const CURLMsg* message = curl_multi_info_read(multi_, &left);
      if (message == nullptr) return;
      if (message->msg != CURLMSG_DONE) continue;
      CURL* easy = message->easy_handle;
      const CURLcode code = message->data.result;
      const auto found = running_.find(easy);
      if (found == running_.end()) continue;
      const std::shared_ptr<CurlTransfer> transfer = found->second;
      running_.erase(found);
      curl_multi_remove_handle(multi_, easy);
      finish(*transfer, code);
    }
  }

  Loop& loop_;
  asio::steady_timer timer_;
  std::chrono::steady_clock::time_point armed_ = std::chrono::steady_clock::time_point::max();
  Deadlines deadlines_;
  SocketSet sockets_;
  CURLM* multi_;
  SpareHandles spare_;
  int curl_calls_ = 0;
  bool closed_ = false, kicked_ = false;
  std::unordered_map<CURL*, std::shared_ptr<CurlTransfer>> running_;
};

}  // namespace

std::shared_ptr<HttpTransport> curl_transport(Loop& loop) {
  const bool resolves_on_thread =
      (curl_version_info(CURLVERSION_NOW)->features & CURL_VERSION_ASYNCHDNS) != 0;
  if (!resolves_on_thread) base::log_warn("curl_resolver_blocking", {{"libcurl", curl_version()}});
  return std::make_shared<CurlTransport>(loop);
}

}  // namespace millrace::net
