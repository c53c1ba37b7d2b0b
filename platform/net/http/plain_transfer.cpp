#include "platform/net/http/plain_transfer.h"

#include <algorithm>
#include <cerrno>
#include <system_error>
#include <utility>
#include <vector>

#include "platform/net/http/http_text.h"
#include "platform/net/loop_impl.h"

// First sending requests: connection, bytes, time-outs. Then receiving responses. Last PlainTransport, which
// runs the transfers.
namespace millrace::net {
namespace {

std::string error_text(int error) { return std::generic_category().message(error); }

}  // namespace

PlainTransfer::PlainTransfer(HttpRequest request, HttpClient::Handlers handlers)
    : request_(std::move(request)), handlers_(std::move(handlers)) {}

void PlainTransfer::begin(Dependencies& dependencies) {
  dependencies_ = &dependencies;
  url_ = *plain_url(request_.url);
  began_ = received_at_ = connect_began_ = Clock::now();
  connect_due_ = connect_began_ + request_.connect_timeout;
  base::Result<std::string> head = request_head(request_, url_);
  if (!head) return fail_later(head.error());
  head_ = *std::move(head);
  watch();
  if (!take_kept()) look_up();
}

// `address_filter` is called for kept connections too, because the request that opened one may have had more
// permissions.
bool PlainTransfer::take_kept() {
  if (request_.own_connection) return false;
  connection_ = dependencies_->pool.take(url_.authority);
  if (!connection_) return false;
  if (request_.address_filter && !passes(connection_->peer())) {
    connection_->close();
    connection_.reset();
    return false;
  }
  reused_ = is_connected_ = true;
  connection_->set_receiver(this);
  connection_->listen(request_.read_buffer_bytes > 0 ? request_.read_buffer_bytes : SIZE_MAX);
  send_on();
  return true;
}

bool PlainTransfer::passes(const PeerAddress& address) {
  if (!request_.address_filter) return true;
  const base::Status verdict = request_.address_filter(address.any);
  if (!verdict) broken_ = std::make_unique<base::Error>(verdict.error());
  return verdict.has_value();
}

void PlainTransfer::look_up() {
  broken_.reset();
  NameLookup::Addresses known = dependencies_->names.known(url_.host, url_.port);
  if (!known.empty()) return connect_to(std::move(known));
  dependencies_->names.look_up(std::string(url_.host), url_.port,
                               [weak = weak_from_this()](NameLookup::Addresses found) {
                                 const auto self = weak.lock();
                                 if (!self || self->over_) return;
                                 if (found.empty())
                                   return self->fail(request_failed("the host name cannot be resolved"));
                                 self->connect_to(std::move(found));
                               });
}

void PlainTransfer::connect_to(NameLookup::Addresses addresses) {
  addresses_ = std::move(addresses);
  std::ranges::reverse(addresses_);
  connect_next();
}

// Each address gets an equal share of the remaining time.
void PlainTransfer::connect_next() {
  int error = EHOSTUNREACH;
  while (!addresses_.empty()) {
    const auto left = connect_began_ + request_.connect_timeout - Clock::now();
    connect_due_ = Clock::now() + left / static_cast<int>(addresses_.size());
    const PeerAddress address = addresses_.back();
    addresses_.pop_back();
    if (!passes(address)) continue;
    if (connection_) connection_->close();
    connection_ = std::make_shared<PlainConnection>(dependencies_->sockets);
    connection_->origin = url_.authority;
    if (connection_->connect(address, *this)) return watch();
    error = errno;
  }
  fail_later(broken_ ? *broken_ : request_failed("no connection: " + error_text(error)));
}

void PlainTransfer::connected(int error) {
  const auto self = shared_from_this();
  if (over_) return;
  if (error != 0 && !addresses_.empty()) return connect_next();
  if (error != 0) return fail(broken_ ? *broken_ : request_failed("no connection: " + error_text(error)));
  addresses_.clear();
  broken_.reset();
  is_connected_ = true;
  connection_->listen(request_.read_buffer_bytes > 0 ? request_.read_buffer_bytes : SIZE_MAX);
  send_on();
}

void PlainTransfer::send_on() {
  const std::size_t all = head_.size() + request_.body.size();
  while (!over_ && !all_sent_) {
    const std::size_t of_head = std::min(sent_, head_.size());
    const std::size_t sent = connection_->send(std::string_view(head_).substr(of_head),
                                               std::string_view(request_.body).substr(sent_ - of_head));
    if (sent == 0) return;
    if (request_.stall_timeout.count() > 0) received_at_ = Clock::now();
    sent_ += sent;
    all_sent_ = sent_ == all;
  }
}

// The server may have closed a kept connection while the request was being sent. If no byte of a response has
// arrived, sends the request once more on a new connection.
bool PlainTransfer::again() {
  if (!reused_ || any_reply_ || request_.reports_unanswered || std::exchange(again_, true)) return false;
  detach_connection(false);
  base::Result<std::string> head = request_head(request_, url_);
  head_ = *std::move(head);
  sent_ = 0;
  all_sent_ = is_connected_ = reused_ = false;
  connect_began_ = Clock::now();
  connect_due_ = connect_began_ + request_.connect_timeout;
  look_up();
  watch();
  return true;
}

void PlainTransfer::watch() {
  const Clock::time_point due = next_due();
  if (over_ || due == Clock::time_point::max() || (deadline_ && armed_ <= due)) return;
  if (deadline_) dependencies_->deadlines.erase(*deadline_);
  armed_ = due;
  deadline_ = dependencies_->deadlines.insert(due, *this);
}

PlainTransfer::Clock::time_point PlainTransfer::next_due() const {
  auto due = Clock::time_point::max();
  const auto not_after = [&](Clock::time_point from, std::chrono::milliseconds bound) {
    if (bound.count() > 0) due = std::min(due, from + bound);
  };
  const auto received_at = held_ ? Clock::now() : received_at_;
  not_after(began_, request_.total_timeout);
  if (!is_connected_ && request_.connect_timeout.count() > 0) due = std::min(due, connect_due_);
  if (!head_delivered_) not_after(began_, request_.first_byte_timeout);
  if (head_delivered_) not_after(received_at, request_.idle_timeout);
  not_after(received_at, request_.stall_timeout);
  return due;
}

void PlainTransfer::on_deadline() {
  const auto self = shared_from_this();
  deadline_.reset();
  if (over_) return;
  const Clock::time_point now = Clock::now();
  if (auto error = late(now)) return fail(*std::move(error));
  if (!is_connected_ && connect_due_ <= now && !addresses_.empty()) return connect_next();
  watch();
}

std::optional<base::Error> PlainTransfer::late(Clock::time_point now) const {
  const auto passed = [&](Clock::time_point from, std::chrono::milliseconds bound) {
    return bound.count() > 0 && from + bound <= now;
  };
  if (passed(began_, request_.total_timeout))
    return timed_out("the reply did not end", "total", request_.total_timeout);
  if (!is_connected_ && passed(connect_began_, request_.connect_timeout))
    return timed_out("no connection was made", "connect", request_.connect_timeout);
  if (!head_delivered_ && passed(began_, request_.first_byte_timeout))
    return timed_out("no reply began", "first_byte", request_.first_byte_timeout);
  if (!held_ && head_delivered_ && passed(received_at_, request_.idle_timeout))
    return timed_out("the reply stopped", "idle", request_.idle_timeout);
  if (!held_ && passed(received_at_, request_.stall_timeout))
    return timed_out("the reply stopped", "stall", request_.stall_timeout);
  return std::nullopt;
}

void PlainTransfer::fail(base::Error error) {
  error.is_free = error.is_unanswered || (!is_connected_ && !again_);
  finish(std::move(error));
}

void PlainTransfer::fail_later(base::Error error) {
  dependencies_->loop.post([self = shared_from_this(), error = std::move(error)] {
    if (!self->over_) self->fail(error);
  });
}

void PlainTransfer::finish(base::Result<HttpReply> outcome) {
  const auto self = shared_from_this();
  const auto done = std::move(handlers_.on_done);
  forget();
  if (done) call([&] { done(std::move(outcome)); });
}

void PlainTransfer::forget() {
  if (!std::exchange(over_, true) && dependencies_ != nullptr) dependencies_->ended(*this);
  if (deadline_) dependencies_->deadlines.erase(*std::exchange(deadline_, std::nullopt));
  handlers_ = {};
  detach_connection(false);
}

void PlainTransfer::detach_connection(bool keep) {
  const auto connection = std::exchange(connection_, nullptr);
  if (!connection) return;
  connection->set_receiver(nullptr);
  if (!keep) return connection->close();
  dependencies_->pool.keep(connection);
  connection->listen(SIZE_MAX);  // it may have been on hold
}

// Receives responses: the head, the body, the end.

namespace {

constexpr std::string_view kHeadBegin = "HTTP/1.";
constexpr std::string_view kHeadEnd = "\r\n\r\n";

// True if a line of the head ends without CR LF. The first `seen` bytes were checked before.
bool has_bare_line_end(std::string_view head, std::size_t seen) {
  for (std::size_t at = head.find('\n', seen); at != std::string_view::npos; at = head.find('\n', at + 1)) {
    if (at == 0 || head[at - 1] != '\r') return true;
  }
  return false;
}

}  // namespace

void PlainTransfer::received(std::string_view bytes) {
  const auto self = shared_from_this();
  if (over_) return;
  if (request_.idle_timeout.count() > 0 || request_.stall_timeout.count() > 0) received_at_ = Clock::now();
  any_reply_ = true;
  receive(bytes);
  if (!over_) watch();
}

void PlainTransfer::receive(std::string_view bytes) {
  while (!head_read_) {
    if (!take_head(bytes)) return;
  }
  take_body(bytes);
}

// Reads one head. False: it is incomplete or malformed.
bool PlainTransfer::take_head(std::string_view& bytes) {
  const std::size_t before = cut_head_.size();
  if (before > 0) cut_head_.append(bytes.substr(0, kReplyHeadBytesMax + 1 - before));
  const std::string_view text = before > 0 ? std::string_view(cut_head_) : bytes;
  const std::size_t end = text.find(kHeadEnd, before - std::min(before, kHeadEnd.size()));
  if (!text.starts_with(kHeadBegin.substr(0, text.size()))) {
    fail(request_failed("the reply is not HTTP/1"));
    return false;
  }
  if (end > kReplyHeadBytesMax && text.size() > kReplyHeadBytesMax) {
    fail(request_failed("the reply's head has more than " + std::to_string(kReplyHeadBytesMax) + " bytes"));
    return false;
  }
  if (has_bare_line_end(text.substr(0, end), before)) {
    fail(request_failed("a line of the reply's head does not end with CR LF"));
    return false;
  }
  if (end == std::string_view::npos) {
    if (before == 0) cut_head_ = bytes;
    return false;
  }
  const auto framing =
      read_reply_head(text.substr(0, end + kHeadEnd.size()), request_.method == "HEAD", reply_);
  bytes.remove_prefix(end + kHeadEnd.size() - before);
  cut_head_.clear();
  if (!framing) {
    fail(framing.error());
    return false;
  }
  if (framing->interim) return !bytes.empty();
  head_read_ = true;
  keeps_ = framing->keeps;
  frames_ = BodyFrames(*framing);
  return begin_body();
}

bool PlainTransfer::begin_body() {
  const std::string_view coding = reply_.header("content-encoding");
  if (request_.identity_encoding || coding.empty() || is_same_word(coding, "identity")) return true;
  unpacker_ = Unpacker::of(coding);
  if (!unpacker_) fail(request_failed("the reply has a Content-Encoding that was not requested"));
  return unpacker_ != nullptr;
}

void PlainTransfer::take_body(std::string_view bytes) {
  std::string_view piece;
  for (;;) {
    switch (frames_.next(bytes, piece)) {
      case BodyFrames::State::kMore:
        return;
      case BodyFrames::State::kDone:
        return whole(bytes.empty());
      case BodyFrames::State::kBroken:
        return fail(request_failed("the reply's chunked encoding is malformed"));
      case BodyFrames::State::kPiece:
        deliver_head();
        held_ = !over_ && handlers_.is_ready && !call([&] { return handlers_.is_ready(); });
        if (held_) {
          waiting_body_ = piece.size();
          waiting_.assign(piece.data(), piece.size() + bytes.size());
          return connection_->hold();
        }
        if (!hand_over(piece)) return;
    }
  }
}

void PlainTransfer::resume_reading() {
  const auto self = shared_from_this();
  if (over_ || !held_) return;
  received_at_ = Clock::now();
  held_ = !call([&] { return handlers_.is_ready(); });
  if (held_ || over_) return;
  const std::string waiting = std::exchange(waiting_, {});
  const std::string_view bytes = waiting;
  if (!hand_over(bytes.substr(0, waiting_body_))) return;
  take_body(bytes.substr(waiting_body_));
  if (over_ || held_) return;
  connection_->listen(request_.read_buffer_bytes > 0 ? request_.read_buffer_bytes : SIZE_MAX);
  watch();
}

// False: the transfer is over.
bool PlainTransfer::hand_over(std::string_view piece) {
  if (!unpacker_) return deliver(piece);
  const auto state = unpacker_->feed(piece, [this](std::string_view bytes) { return deliver(bytes); });
  if (state == Unpacker::State::kBroken) fail(request_failed("the reply cannot be decompressed"));
  return !over_;
}

bool PlainTransfer::deliver(std::string_view bytes) {
  if (over_) return false;
  received_ += bytes.size();
  if (received_ > request_.body_bytes_max) return fail(reply_too_large(request_.body_bytes_max)), false;
  if (!handlers_.on_data) return reply_.body.append(bytes), true;
  const bool wants_more = call([&] { return handlers_.on_data(bytes); });
  if (!wants_more && !over_) finish(std::move(reply_));
  return wants_more && !over_;
}

// From here on, the request is not sent again. So it need not be kept until the response ends.
void PlainTransfer::deliver_head() {
  if (over_ || std::exchange(head_delivered_, true)) return;
  std::string().swap(cut_head_);
  decltype(request_.headers)().swap(request_.headers);
  url_ = {};
  std::string().swap(request_.url);
  if (all_sent_) {
    std::string().swap(head_);
    std::string().swap(request_.body);
  }
  if (request_.read_buffer_bytes > 0) reply_.headers.shrink_to_fit();  // the response may take long
  if (handlers_.on_head) call([&] { handlers_.on_head(reply_); });
}

void PlainTransfer::ended(int error) {
  const auto self = shared_from_this();
  if (over_ || again()) return;
  if (head_read_ && error == 0 && frames_.may_end_here()) return whole(false);
  const std::string why = error != 0   ? error_text(error)
                          : any_reply_ ? "the connection was closed before the reply was complete"
                                       : "the connection was closed without a reply";
  base::Error failed = request_failed(why);
  failed.is_unanswered = reused_ && !any_reply_;
  fail(std::move(failed));
}

void PlainTransfer::whole(bool nothing_left) {
  if (over_) return;
  if (unpacker_ && unpacker_->has_begun() && !unpacker_->is_whole())
    return fail(request_failed("the compressed reply is incomplete"));
  deliver_head();
  if (over_) return;
  detach_connection(keeps_ && all_sent_ && nothing_left);
  finish(std::move(reply_));
}

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
