#include "platform/net/http_client.h"

#include <future>
#include <unordered_map>

#include <asio/posix/stream_descriptor.hpp>
#include <asio/steady_timer.hpp>
#include <curl/curl.h>

#include "platform/base/log.h"
#include "platform/net/http_transfer.h"
#include "platform/net/loop_impl.h"

namespace millrace::net {

std::string_view HttpReply::header(std::string_view lower_case_name) const {
  for (const auto& [name, value] : headers) {
    if (name == lower_case_name) return value;
  }
  return {};
}

// curl's multi interface driven by the loop: sockets and one timer. Lives on the loop's thread.
class HttpClient::Multi : public std::enable_shared_from_this<Multi> {
 public:
  explicit Multi(asio::io_context& context) : context_(context), timer_(context), multi_(curl_multi_init()) {
    curl_multi_setopt(multi_, CURLMOPT_SOCKETFUNCTION, &Multi::on_socket);
    curl_multi_setopt(multi_, CURLMOPT_SOCKETDATA, this);
    curl_multi_setopt(multi_, CURLMOPT_TIMERFUNCTION, &Multi::on_timer);
    curl_multi_setopt(multi_, CURLMOPT_TIMERDATA, this);
  }

  void add(const std::shared_ptr<Transfer>& transfer) {
    if (closed_ || transfer->cancelled) return;
    transfer->prepare();
    transfer->started = true;
    running_[transfer->easy()] = transfer;
    curl_multi_add_handle(multi_, transfer->easy());
  }

  void remove(const std::shared_ptr<Transfer>& transfer) {
    transfer->cancelled = transfer->over = true;
    transfer->forget();
    if (!transfer->started || running_.erase(transfer->easy()) == 0) return;
    curl_multi_remove_handle(multi_, transfer->easy());
  }

  void close() {
    closed_ = true;
    for (auto& [easy, transfer] : running_) {
      transfer->over = true;
      transfer->forget();
      curl_multi_remove_handle(multi_, easy);
    }
    running_.clear();
    timer_.cancel();
    curl_multi_cleanup(multi_);
    for (auto& [fd, watch] : watches_) watch->descriptor.release();
    watches_.clear();
    multi_ = nullptr;
  }

 private:
  struct Watch {
    explicit Watch(asio::io_context& context) : descriptor(context) {}
    asio::posix::stream_descriptor descriptor;
    int want = 0;
    bool reading = false, writing = false;
  };

  static int on_socket(CURL*, curl_socket_t fd, int what, void* self, void*) {
    static_cast<Multi*>(self)->watch(fd, what);
    return 0;
  }
  static int on_timer(CURLM*, long timeout_ms, void* self) {
    static_cast<Multi*>(self)->arm_timer(timeout_ms);
    return 0;
  }

  void watch(curl_socket_t fd, int what) {
    const auto found = watches_.find(fd);
    if (what == CURL_POLL_REMOVE) {
      if (found == watches_.end()) return;
      found->second->want = 0;
      found->second->descriptor.release();
      watches_.erase(found);
      return;
    }
    std::shared_ptr<Watch> watch;
    if (found != watches_.end()) {
      watch = found->second;
    } else {
      watch = std::make_shared<Watch>(context_);
      watch->descriptor.assign(fd);
      watches_[fd] = watch;
    }
    watch->want = what;
    wait(fd, watch);
  }

  void wait(curl_socket_t fd, const std::shared_ptr<Watch>& watch) {
    using Wait = asio::posix::stream_descriptor;
    if ((watch->want & CURL_POLL_IN) != 0 && !std::exchange(watch->reading, true)) {
      watch->descriptor.async_wait(Wait::wait_read,
                                   [self = shared_from_this(), fd, watch](asio::error_code error) {
                                     watch->reading = false;
                                     self->ready(fd, watch, CURL_CSELECT_IN, error);
                                   });
    }
    if ((watch->want & CURL_POLL_OUT) != 0 && !std::exchange(watch->writing, true)) {
      watch->descriptor.async_wait(Wait::wait_write,
                                   [self = shared_from_this(), fd, watch](asio::error_code error) {
                                     watch->writing = false;
                                     self->ready(fd, watch, CURL_CSELECT_OUT, error);
                                   });
    }
  }

  void ready(curl_socket_t fd, const std::shared_ptr<Watch>& watch, int event, asio::error_code error) {
    const auto is_current = [&] {
      const auto found = watches_.find(fd);
      return multi_ != nullptr && found != watches_.end() && found->second == watch;
    };
    if (error || !is_current()) return;
    const int wanted = event == CURL_CSELECT_IN ? CURL_POLL_IN : CURL_POLL_OUT;
    if ((watch->want & wanted) != 0) {
      int still_running = 0;
      curl_multi_socket_action(multi_, fd, event, &still_running);
      collect();
    }
    if (is_current()) wait(fd, watch);
  }

  void arm_timer(long timeout_ms) {
    timer_.cancel();
    if (timeout_ms < 0) return;
    timer_.expires_after(std::chrono::milliseconds(timeout_ms));
    timer_.async_wait([self = shared_from_this()](asio::error_code error) {
      if (error || self->multi_ == nullptr) return;
      int still_running = 0;
      curl_multi_socket_action(self->multi_, CURL_SOCKET_TIMEOUT, 0, &still_running);
      self->collect();
    });
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
      const std::shared_ptr<Transfer> transfer = found->second;
      running_.erase(found);
      curl_multi_remove_handle(multi_, easy);
      transfer->finish(code);
    }
  }

  asio::io_context& context_;
  asio::steady_timer timer_;
  CURLM* multi_;
  bool closed_ = false;
  std::unordered_map<CURL*, std::shared_ptr<Transfer>> running_;
  std::unordered_map<curl_socket_t, std::shared_ptr<Watch>> watches_;
};

HttpClient::HttpClient(Loop& loop) : loop_(loop), multi_(std::make_shared<Multi>(loop.impl().context)) {
  const bool resolves_beside = (curl_version_info(CURLVERSION_NOW)->features & CURL_VERSION_ASYNCHDNS) != 0;
  if (!resolves_beside) base::log_warn("curl_blocks_to_resolve", {{"libcurl", curl_version()}});
}

HttpClient::~HttpClient() {
  std::promise<void> closed;
  loop_.post([multi = multi_, &closed] {
    multi->close();
    closed.set_value();
  });
  closed.get_future().wait();
}

std::shared_ptr<HttpClient::Transfer> HttpClient::start(HttpRequest request, Handlers handlers) {
  auto transfer = std::make_shared<Transfer>(std::move(request), std::move(handlers));
  loop_.post([multi = multi_, transfer] { multi->add(transfer); });
  return transfer;
}

void HttpClient::cancel(const std::shared_ptr<Transfer>& transfer) {
  loop_.post([multi = multi_, transfer] { multi->remove(transfer); });
}

void HttpClient::resume(Transfer& transfer) {
  if (transfer.is_running()) curl_easy_pause(transfer.easy(), CURLPAUSE_CONT);
}

base::Result<HttpReply> HttpClient::fetch_blocking(HttpRequest request, Handlers handlers) {
  auto promise = std::make_shared<std::promise<base::Result<HttpReply>>>();
  handlers.on_done = [promise](base::Result<HttpReply> reply) { promise->set_value(std::move(reply)); };
  start(std::move(request), std::move(handlers));
  return promise->get_future().get();
}

}  // namespace millrace::net
