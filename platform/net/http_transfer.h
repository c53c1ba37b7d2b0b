#pragma once
#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include <curl/curl.h>

#include "platform/net/http_client.h"

namespace millrace::net {

// One request under way: curl's handle, its options and its callbacks. Everything but construction happens on
// the loop's thread.
class HttpClient::Transfer {
 public:
  Transfer(HttpRequest request, Handlers handlers)
      : request_(std::move(request)), handlers_(std::move(handlers)) {}

  void prepare();
  void finish(CURLcode code);
  CURL* easy() const { return easy_.get(); }
  void forget() { handlers_ = {}; }
  // The handle is curl's: between `add` and the end.
  bool is_running() const { return started && !over; }
  bool started = false, cancelled = false, over = false;

 private:
  struct EasyDeleter {
    void operator()(CURL* easy) const { curl_easy_cleanup(easy); }
  };
  struct ListDeleter {
    void operator()(curl_slist* list) const { curl_slist_free_all(list); }
  };

  template <class T>
  void set(CURLoption option, T value) {
    curl_easy_setopt(easy_.get(), option, value);
  }
  void set_bounds();
  void set_method();
  void set_headers();
  void set_callbacks();
  base::Error error_of(CURLcode code) const;

  static std::size_t on_header(char* data, std::size_t size, std::size_t count, void* self);
  static std::size_t on_body(char* data, std::size_t size, std::size_t count, void* self);
  static curl_socket_t on_open_socket(void* self, curlsocktype, curl_sockaddr* address);
  static int on_connected(void* self, char* peer_ip, char*, int, int);
  void take_header(std::string_view line);
  void tell_head();
  bool take_body(std::string_view bytes);
  bool passes(const sockaddr& address);

  HttpRequest request_;
  Handlers handlers_;
  HttpReply reply_;
  std::unique_ptr<CURL, EasyDeleter> easy_;
  std::unique_ptr<curl_slist, ListDeleter> header_list_;
  std::optional<base::Error> refused_;
  std::size_t received_ = 0;
  bool head_told_ = false, too_large_ = false, stopped_by_reader_ = false;
};

}  // namespace millrace::net
