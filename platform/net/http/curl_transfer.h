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

// One request under way: curl's handle, its options and its callbacks. Everything but construction happens on
// the loop's thread.
class CurlTransfer final : public HttpClient::Transfer {
 public:
  CurlTransfer(HttpRequest request, HttpClient::Handlers handlers)
      : request_(std::move(request)), handlers_(std::move(handlers)) {}

  // `easy`: as new. `deadlines` and `curl_calls` outlive its run; the latter is above 0 while curl must not
  // be called again.
  void prepare(Easy easy, Deadlines& deadlines, int& curl_calls);
  void finish(CURLcode code);
  // Its deadline came up: true if it is over, else there is a new one.
  bool is_late();
  void resume_reading() override;
  CURL* easy() const { return easy_.get(); }
  Easy take_easy() { return std::move(easy_); }  // after `finish`
  std::size_t read_buffer_bytes() const { return request_.read_buffer_bytes; }
  void forget();
  // The connection that it uses or has used, by its ends; a port of 0: none yet.
  struct Link {
    long port = 0;  // ours
    std::string peer = {};
    friend bool operator==(const Link&, const Link&) = default;
  };
  Link link() const;
  // Has its connection send what waits there. False: its reader holds it, so that it has to wait itself.
  bool stir();
  // The handle is curl's: between `add` and the end.
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
  void set_headers();
  void set_callbacks();
  base::Error error_of(CURLcode code) const;
  base::Error timeout_error() const;

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
  std::unique_ptr<curl_slist, ListDeleter> header_list_;  // outlives the handle
  Easy easy_;
  std::optional<base::Error> refused_;
  std::size_t received_ = 0;
  // The head is told with the body's first byte.
  bool head_delivered_ = false, too_large_ = false, stopped_by_reader_ = false;
  Deadlines* deadlines_ = nullptr;
  int* curl_calls_ = nullptr;
  std::optional<Deadlines::Entry> deadline_;
  Deadlines::TimePoint received_at_;  // last, or when it started
  CURLcode broken_ = CURLE_OK;        // found when it was to go on
  bool held_ = false, late_ = false;
};

}  // namespace millrace::net
