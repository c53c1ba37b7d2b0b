#include "api/front/exchange.h"

#include <utility>

#include "api/front/characters.h"
#include "api/front/connection.h"
#include "api/front/reply_collector.h"

namespace millrace::front {

std::optional<std::string_view> Head::header(std::string_view name) const {
  for (const Header& header : headers) {
    if (same_name(header.name, name)) return header.value;
  }
  return std::nullopt;
}

bool Responder::send(Reply reply) const {
  if (collector_) return collector_->send(std::move(reply));
  return connection_ && connection_->send(sequence_, std::move(reply));
}

bool Responder::start_stream(Reply head, std::optional<std::uint64_t> length) const {
  if (collector_) return collector_->start_stream(std::move(head), {});
  return connection_ && connection_->start_stream(sequence_, head, length, {});
}

bool Responder::start_stream(Reply head, std::string_view first) const {
  if (collector_) return collector_->start_stream(std::move(head), first);
  return connection_ && connection_->start_stream(sequence_, head, std::nullopt, first);
}

bool Responder::write(std::string_view bytes) const {
  if (collector_) return collector_->write(bytes);
  return connection_ && connection_->write(sequence_, bytes);
}

bool Responder::end(std::string_view last) const {
  if (collector_) return collector_->end(last);
  return connection_ && connection_->end(sequence_, last);
}

bool Responder::abort() const {
  if (collector_) return collector_->abort();
  return connection_ && connection_->abort(sequence_);
}

bool Responder::cancel(std::optional<Reply> reply) const {
  if (collector_) return reply ? collector_->send(*std::move(reply)) : collector_->abort();
  return connection_ && connection_->cancel(sequence_, std::move(reply));
}

bool Responder::alive() const {
  if (collector_) return collector_->alive();
  return connection_ && connection_->alive(sequence_);
}

std::size_t Responder::backlog() const { return connection_ ? connection_->backlog(sequence_) : 0; }

void Responder::on_gone(std::function<void()> f) const {
  if (connection_) connection_->on_gone(sequence_, std::move(f));
}

void Responder::on_drained(std::size_t low_water, std::function<void()> f) const {
  if (collector_) return f();
  if (connection_) connection_->on_drained(sequence_, low_water, std::move(f));
}

}  // namespace millrace::front
