#pragma once
#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include <curl/curl.h>

#include "platform/net/http/http_deadlines.h"
#include "platform/net/http/http_transport.h"

namespace millrace::net {

struct EasyDeleter {
  void operator()(CURL* easy) const { curl_easy_cleanup(easy); }
};
using Easy = std::unique_ptr<CURL, EasyDeleter>;

// One running request: a curl handle with its options and callbacks. Everything except construction happens
// on the loop's thread.
class CurlTransfer final : public HttpClient::Transfer {
 public:
  CurlTransfer(HttpRequest request, HttpClient::Handlers handlers)
      : request_(std::move(request)), handlers_(std::move(handlers)) {}

  // `easy` must be new or reset. `deadlines` and `curl_calls` must outlive the run. `curl_calls` is above 0
  // while curl must not be called recursively.
  void prepare(Easy easy, Deadlines& deadlines, int& curl_calls);
  void finish(CURLcode code);
  // Called when its deadline is reached. True: it has timed out; false: a new deadline was set.
  bool is_late();
  void resume_reading() override;
  CURL* easy() const { return easy_.get(); }
  Easy take_easy() { return std::move(easy_); }  // call after `finish`
  std::size_t read_buffer_bytes() const { return request_.read_buffer_bytes; }
  void forget();
  // Identifies the connection that it uses or has used by its two ends. Port 0: none yet.
  struct Link {
    long port = 0;  // our port
    std::string peer = {};
    friend bool operator==(const Link&, const Link&) = default;
  };
  Link link() const;
  // Makes its connection send waiting data. False: its reader has paused it, so it cannot.
  bool resend_window_update();
  // curl uses the handle: between `add` and the end.
  bool is_running() const { return started && !over; }
  bool started = false, cancelled = false, over = false;

 private:
  struct ListDeleter {
    void operator()(curl_slist* list) const { curl_slist_free_all(list); }
  };

  template <class T>
  void set(CURLoption option, T value) {
    curl_easy_setopt(easy_.get(), option, value);
  }
  void set_bounds();
  void watch(Deadlines::TimePoint when);
  void unwatch();
  void set_method();
  void set_one_reading();
  void set_file_body();
  void set_headers();
  void set_callbacks();
  base::Error error_of(CURLcode code) const;
  base::Error timeout_error() const;
  curl_off_t connected_after() const;  // microseconds, with TLS; 0: not connected yet

  static std::size_t on_read(char* to, std::size_t size, std::size_t count, void* self);
  static std::size_t on_read_file(char* to, std::size_t size, std::size_t count, void* self);
  static std::size_t on_header(char* data, std::size_t size, std::size_t count, void* self);
  static std::size_t on_body(char* data, std::size_t size, std::size_t count, void* self);
  static curl_socket_t on_open_socket(void* self, curlsocktype, curl_sockaddr* address);
  static int on_connected(void* self, char* peer_ip, char*, int, int);
  void take_header(std::string_view line);
  void deliver_head();
  void drop_sent_body();
  bool take_body(std::string_view bytes);
  bool passes(const sockaddr& address);

  HttpRequest request_;
  HttpClient::Handlers handlers_;
  HttpReply reply_;
  std::unique_ptr<curl_slist, ListDeleter> header_list_;  // must outlive the handle
  Easy easy_;
  std::optional<base::Error> refused_;
  std::size_t received_ = 0, read_ = 0;  // bytes of the response, and those of the request that curl has read
  // The head is delivered together with the first byte of the body.
  bool head_delivered_ = false, too_large_ = false, stopped_by_reader_ = false;
  Deadlines* deadlines_ = nullptr;
  int* curl_calls_ = nullptr;
  std::optional<Deadlines::Entry> deadline_;
  Deadlines::TimePoint received_at_;  // time of the last data, or of the start
  CURLcode broken_ = CURLE_OK;        // error of the attempt to continue
  bool held_ = false, late_ = false;
};

}  // namespace millrace::net
