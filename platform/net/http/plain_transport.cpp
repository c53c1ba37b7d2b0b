#include <utility>
#include <vector>

#include "platform/net/http/http_transport.h"
#include "platform/net/http/plain_transfer.h"
#include "platform/net/loop_impl.h"

namespace millrace::net {
namespace {

// HTTP without TLS on plain connections (ADR 17).
class PlainTransport final : public HttpTransport {
 public:
  explicit PlainTransport(Loop& loop)
      : dependencies_{.loop = loop,
                      .sockets = PlainSockets(loop.impl()),
                      .pool = {},
                      .names = NameLookup(loop.impl()),
                      .deadlines = Deadlines(loop.impl(),
                                             [](HttpClient::Transfer& late) {
                                               static_cast<PlainTransfer&>(late).on_deadline();
                                             }),
                      .ended = [this](PlainTransfer& transfer) { drop(transfer); }} {}

  TransferPtr make(HttpRequest request, HttpClient::Handlers handlers) override {
    return std::make_shared<PlainTransfer>(std::move(request), std::move(handlers));
  }

  void add(const TransferPtr& of) override {
    auto transfer = std::static_pointer_cast<PlainTransfer>(of);
    if (closed_ || transfer->is_over()) return;
    transfer->place = running_.size();
    running_.push_back(transfer);
    transfer->begin(dependencies_);
  }

  void remove(const TransferPtr& of) override { static_cast<PlainTransfer&>(*of).forget(); }

  bool is_busy() const override { return dependencies_.handlers_running > 0; }

  SocketSet* sockets() override { return &dependencies_.sockets.ready(); }

  void close() override {
    closed_ = true;
    while (!running_.empty()) {
      const auto transfer = running_.back();
      transfer->forget();
    }
    dependencies_.deadlines.close();
    dependencies_.names.close();
    dependencies_.pool.close();
    dependencies_.sockets.close();
  }

 private:
  void drop(PlainTransfer& transfer) {
    const std::size_t place = transfer.place;
    running_.back()->place = place;
    std::swap(running_[place], running_.back());
    running_.pop_back();
  }

  PlainTransfer::Dependencies dependencies_;
  std::vector<std::shared_ptr<PlainTransfer>> running_;
  bool closed_ = false;
};

}  // namespace

std::shared_ptr<HttpTransport> plain_transport(Loop& loop) { return std::make_shared<PlainTransport>(loop); }

}  // namespace millrace::net
