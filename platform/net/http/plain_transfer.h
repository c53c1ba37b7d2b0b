#pragma once
#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "platform/net/http/http_deadlines.h"
#include "platform/net/http/http_transport.h"
#include "platform/net/http/name_lookup.h"
#include "platform/net/http/plain_body.h"
#include "platform/net/http/plain_connection.h"
#include "platform/net/http/plain_pool.h"
#include "platform/net/http/unpacker.h"

namespace millrace::net {

// One running request on a plain connection. Everything except construction happens while the run lock is
// held.
class PlainTransfer final : public HttpClient::Transfer,
                            public PlainConnection::Receiver,
                            public std::enable_shared_from_this<PlainTransfer> {
 public:
  // Shared by all transfers; must outlive their runs.
  struct Dependencies {
    Loop& loop;
    PlainSockets sockets;
    PlainPool pool;
    NameLookup names;
    Deadlines deadlines;
    int handlers_running = 0;  // of all transfers
    std::function<void(PlainTransfer&)> ended;
  };

  PlainTransfer(HttpRequest request, HttpClient::Handlers handlers);
  void begin(Dependencies& dependencies);
  void forget();  // calls no more handlers and closes the connection
  void on_deadline();
  void resume_reading() override;
  bool is_over() const { return over_; }
  std::size_t place = 0;  // index in the list of running transfers

 private:
  using Clock = std::chrono::steady_clock;

  void connected(int error) override;
  void can_send() override { send_on(); }
  void received(std::string_view bytes) override;
  void ended(int error) override;

  bool passes(const PeerAddress& address);
  bool take_kept();
  void look_up();
  void connect_to(NameLookup::Addresses addresses);
  void connect_next();
  void send_on();
  bool again();

  void receive(std::string_view bytes);
  bool take_head(std::string_view& bytes);
  bool begin_body();
  void take_body(std::string_view bytes);
  bool hand_over(std::string_view piece);
  bool deliver(std::string_view bytes);
  void deliver_head();

  void watch();
  Clock::time_point next_due() const;
  std::optional<base::Error> late(Clock::time_point now) const;
  void whole(bool nothing_left);
  void fail(base::Error error);
  void fail_later(base::Error error);
  void finish(base::Result<HttpReply> outcome);
  void detach_connection(bool keep);

  // Calls a handler of the request's owner.
  template <class F>
  auto call(F&& handler) {
    struct Count {
      explicit Count(int& of) : count(++of) {}
      ~Count() { --count; }
      int& count;
    } const counted(dependencies_->handlers_running);
    return handler();
  }

  HttpRequest request_;
  HttpClient::Handlers handlers_;
  Dependencies* dependencies_ = nullptr;
  PlainUrl url_;
  std::shared_ptr<PlainConnection> connection_;
  NameLookup::Addresses addresses_;  // addresses that were not tried yet; the next one is last
  std::string head_;                 // of the request
  std::string cut_head_;             // head of the response, if it arrived in pieces
  std::size_t sent_ = 0;             // bytes of head and body
  HttpReply reply_;
  BodyFrames frames_;
  std::unique_ptr<Unpacker> unpacker_;
  std::string waiting_;           // received bytes that were not consumed yet
  std::size_t waiting_body_ = 0;  // how many of them are body without framing
  std::size_t received_ = 0;
  std::unique_ptr<base::Error> broken_;  // error that `address_filter` returned
  std::optional<Deadlines::Entry> deadline_;
  Clock::time_point began_, connect_began_, connect_due_, received_at_, armed_;
  bool over_ = false, reused_ = false, again_ = false, is_connected_ = false, all_sent_ = false;
  bool any_reply_ = false, head_read_ = false, head_delivered_ = false, keeps_ = false, held_ = false;
};

}  // namespace millrace::net
