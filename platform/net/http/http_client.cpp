#include "platform/net/http/http_client.h"

#include <future>

#include "platform/net/http/http_text.h"
#include "platform/net/http/http_transport.h"

namespace millrace::net {

std::string_view HttpReply::header(std::string_view lower_case_name) const {
  for (const auto& [name, value] : headers) {
    if (name == lower_case_name) return value;
  }
  return {};
}

HttpClient::HttpClient(Loop& loop, PlainHttp plain)
    : loop_(loop),
      curl_(curl_transport(loop)),
      plain_(plain == PlainHttp::kBuiltIn ? plain_transport(loop) : nullptr) {}

HttpClient::~HttpClient() {
  std::promise<void> closed;
  loop_.post([curl = curl_, plain = plain_, &closed] {
    curl->close();
    if (plain) plain->close();
    closed.set_value();
  });
  closed.get_future().wait();
}

std::shared_ptr<HttpClient::Transfer> HttpClient::start(HttpRequest request, Handlers handlers) {
  const auto& transport = plain_ && request.body_file < 0 && plain_url(request.url) ? plain_ : curl_;
  auto transfer = transport->make(std::move(request), std::move(handlers));
  if (loop_.on_this_thread() && !transport->is_busy()) {
    transport->add(transfer);
  } else {
    loop_.post([transport, transfer] { transport->add(transfer); });
  }
  return transfer;
}

void HttpClient::cancel(const std::shared_ptr<Transfer>& transfer) {
  const auto& transport = transfer->is_curl ? curl_ : plain_;
  if (loop_.on_this_thread() && !transport->is_busy()) return transport->remove(transfer);
  loop_.post([transport, transfer] { transport->remove(transfer); });
}

void HttpClient::resume(Transfer& transfer) { transfer.resume_reading(); }

int HttpClient::share_replies() {
  SocketSet* const sockets = plain_ ? plain_->sockets() : nullptr;
  if (sockets == nullptr) return -1;
  loop_.post([plain = plain_] { plain->sockets()->delegate_waiting(true); });
  return sockets->fd();
}

void HttpClient::run_shared_replies() {
  loop_.run_inline_if_idle([plain = plain_] { plain->sockets()->wake_up(); });
}

void HttpClient::end_shared_replies() {
  if (plain_) loop_.post([plain = plain_] { plain->sockets()->delegate_waiting(false); });
}

base::Result<HttpReply> HttpClient::fetch_blocking(HttpRequest request, Handlers handlers) {
  auto promise = std::make_shared<std::promise<base::Result<HttpReply>>>();
  handlers.on_done = [promise](base::Result<HttpReply> reply) { promise->set_value(std::move(reply)); };
  start(std::move(request), std::move(handlers));
  return promise->get_future().get();
}

}  // namespace millrace::net
