#include "platform/net/http_client.h"

#include <cstring>
#include <future>
#include <unordered_map>

#include <arpa/inet.h>
#include <asio/posix/stream_descriptor.hpp>
#include <asio/steady_timer.hpp>
#include <curl/curl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "platform/net/loop_impl.h"

namespace millrace::net {

std::string_view HttpReply::header(std::string_view lower_case_name) const {
  for (const auto& [name, value] : headers) {
    if (name == lower_case_name) return value;
  }
  return {};
}

namespace {

struct EasyDeleter {
  void operator()(CURL* easy) const { curl_easy_cleanup(easy); }
};
struct ListDeleter {
  void operator()(curl_slist* list) const { curl_slist_free_all(list); }
};

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

// One request under way. Everything but construction happens on the loop's thread.
class HttpClient::Transfer {
 public:
  Transfer(HttpRequest request, Handlers handlers)
      : request_(std::move(request)), handlers_(std::move(handlers)) {}

  void prepare() {
    easy_.reset(curl_easy_init());
    CURL* e = easy_.get();
    set(CURLOPT_PRIVATE, this);
    set(CURLOPT_URL, request_.url.c_str());
    set(CURLOPT_PROTOCOLS_STR, "http,https");
    set(CURLOPT_PROXY, "");
    set(CURLOPT_NOSIGNAL, 1L);
    set(CURLOPT_USERAGENT, "millrace/" MILLRACE_VERSION);
    set(CURLOPT_CONNECTTIMEOUT_MS, static_cast<long>(request_.connect_timeout.count()));
    set(CURLOPT_TIMEOUT_MS, static_cast<long>(request_.total_timeout.count()));
    if (request_.stall_timeout.count() > 0) {
      set(CURLOPT_LOW_SPEED_LIMIT, 1L);
      set(CURLOPT_LOW_SPEED_TIME, static_cast<long>(request_.stall_timeout.count()));
    }
    if (!request_.identity_encoding) set(CURLOPT_ACCEPT_ENCODING, "");
    set_method();
    set_headers();
    curl_easy_setopt(e, CURLOPT_HEADERFUNCTION, &Transfer::on_header);
    set(CURLOPT_HEADERDATA, this);
    curl_easy_setopt(e, CURLOPT_WRITEFUNCTION, &Transfer::on_body);
    set(CURLOPT_WRITEDATA, this);
    if (!request_.vet) return;
    curl_easy_setopt(e, CURLOPT_OPENSOCKETFUNCTION, &Transfer::on_open_socket);
    set(CURLOPT_OPENSOCKETDATA, this);
    curl_easy_setopt(e, CURLOPT_PREREQFUNCTION, &Transfer::on_connected);
    set(CURLOPT_PREREQDATA, this);
  }

  void finish(CURLcode code) {
    long status = 0;
    curl_easy_getinfo(easy_.get(), CURLINFO_RESPONSE_CODE, &status);
    reply_.status = static_cast<int>(status);
    const auto done = std::move(handlers_.on_done);
    handlers_ = {};
    if (!done) return;
    if (code == CURLE_OK || stopped_by_reader_) return done(std::move(reply_));
    done(error_of(code));
  }

  CURL* easy() const { return easy_.get(); }
  void forget() { handlers_ = {}; }
  bool started = false, cancelled = false;

 private:
  template <class T>
  void set(CURLoption option, T value) {
    curl_easy_setopt(easy_.get(), option, value);
  }

  void set_method() {
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

  void set_headers() {
    curl_slist* list = curl_slist_append(nullptr, "Expect:");
    if (request_.identity_encoding) list = curl_slist_append(list, "Accept-Encoding: identity");
    for (const auto& [name, value] : request_.headers)
      list = curl_slist_append(list, (name + ": " + value).c_str());
    header_list_.reset(list);
    set(CURLOPT_HTTPHEADER, list);
  }

  base::Error error_of(CURLcode code) const {
    if (refused_) return *refused_;
    if (too_large_) {
      return base::error(base::Code::kTooLarge,
                         "the reply is larger than " + std::to_string(request_.body_bytes_max) + " bytes");
    }
    if (code == CURLE_OPERATION_TIMEDOUT)
      return base::error(base::Code::kUpstreamTimeout, "the server did not answer in time");
    return base::error(base::Code::kUpstream, std::string("request failed: ") + curl_easy_strerror(code));
  }

  static std::size_t on_header(char* data, std::size_t size, std::size_t count, void* self) {
    static_cast<Transfer*>(self)->take_header(std::string_view(data, size * count));
    return size * count;
  }
  void take_header(std::string_view line) {
    if (line.starts_with("HTTP/")) {  // a new head (after 100 Continue)
      reply_.headers.clear();
      head_told_ = false;
      return;
    }
    const std::size_t colon = line.find(':');
    if (colon == std::string_view::npos || reply_.headers.size() >= 256) return;
    reply_.headers.emplace_back(lower(line.substr(0, colon)), trim(line.substr(colon + 1)));
  }
  void tell_head() {
    if (std::exchange(head_told_, true)) return;
    long status = 0;
    curl_easy_getinfo(easy_.get(), CURLINFO_RESPONSE_CODE, &status);
    reply_.status = static_cast<int>(status);
    if (handlers_.on_head) handlers_.on_head(reply_);
  }

  static std::size_t on_body(char* data, std::size_t size, std::size_t count, void* self) {
    return static_cast<Transfer*>(self)->take_body(std::string_view(data, size * count)) ? size * count : 0;
  }
  bool take_body(std::string_view bytes) {
    tell_head();
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

  static curl_socket_t on_open_socket(void* self, curlsocktype, curl_sockaddr* address) {
    if (!static_cast<Transfer*>(self)->passes(address->addr)) return CURL_SOCKET_BAD;
    return ::socket(address->family, address->socktype | SOCK_CLOEXEC, address->protocol);
  }
  static int on_connected(void* self, char* peer_ip, char*, int, int) {
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
  bool passes(const sockaddr& address) {
    const base::Status verdict = request_.vet(address);
    if (!verdict) refused_ = verdict.error();
    return verdict.has_value();
  }

  HttpRequest request_;
  Handlers handlers_;
  HttpReply reply_;
  std::unique_ptr<CURL, EasyDeleter> easy_;
  std::unique_ptr<curl_slist, ListDeleter> header_list_;
  std::optional<base::Error> refused_;
  std::size_t received_ = 0;
  bool head_told_ = false, too_large_ = false, stopped_by_reader_ = false;
};

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
    transfer->cancelled = true;
    transfer->forget();
    if (!transfer->started || running_.erase(transfer->easy()) == 0) return;
    curl_multi_remove_handle(multi_, transfer->easy());
  }

  void close() {
    closed_ = true;
    for (auto& [easy, transfer] : running_) {
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

HttpClient::HttpClient(Loop& loop) : loop_(loop), multi_(std::make_shared<Multi>(loop.impl().context)) {}

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

base::Result<HttpReply> HttpClient::fetch_blocking(HttpRequest request, Handlers handlers) {
  auto promise = std::make_shared<std::promise<base::Result<HttpReply>>>();
  handlers.on_done = [promise](base::Result<HttpReply> reply) { promise->set_value(std::move(reply)); };
  start(std::move(request), std::move(handlers));
  return promise->get_future().get();
}

}  // namespace millrace::net
