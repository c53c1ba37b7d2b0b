#include "ai/providers/mock.h"

#include <utility>

namespace millrace::providers {
namespace {

using schemas::ChatPiece;

ChatPiece piece_of(int index) {
  ChatPiece piece;
  piece.index = index;
  return piece;
}

// "one two " → "one ", "two ".
void add_words(const schemas::ChatChoice& choice, std::vector<ChatPiece>& out) {
  const std::string& text = *choice.content;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t space = text.find(' ', at);
    const std::size_t end = space == std::string::npos ? text.size() : space + 1;
    ChatPiece piece = piece_of(choice.index);
    piece.content = text.substr(at, end - at);
    out.push_back(std::move(piece));
    at = end;
  }
}

void add_calls(const schemas::ChatChoice& choice, std::vector<ChatPiece>& out) {
  int index = 0;
  for (const schemas::ToolCall& call : choice.tool_calls) {
    const std::size_t half = call.arguments.size() / 2;
    ChatPiece begin = piece_of(choice.index), rest = piece_of(choice.index);
    begin.tool_calls.push_back({index, call.id, call.type, call.name, ""});
    begin.tool_calls[0].arguments = call.type == "custom" ? "" : call.arguments.substr(0, half);
    rest.tool_calls.push_back({index++, "", "", "", call.arguments.substr(call.type == "custom" ? 0 : half)});
    out.push_back(std::move(begin));
    out.push_back(std::move(rest));
  }
}

std::vector<ChatPiece> streamed_pieces(const schemas::ChatReply& reply) {
  std::vector<ChatPiece> pieces;
  for (const schemas::ChatChoice& choice : reply.choices) {
    if (choice.content) add_words(choice, pieces);
    add_calls(choice, pieces);
    ChatPiece end = piece_of(choice.index);
    end.finish_reason = choice.finish_reason;
    pieces.push_back(std::move(end));
  }
  return pieces;
}

// Gives one piece per turn of the loop, as a network would, so that a cancel and a full reader are heard.
class MockCall final : public Call, public std::enable_shared_from_this<MockCall> {
 public:
  MockCall(net::Loop& loop, schemas::ChatReply reply, bool stream, CallHandlers handlers)
      : loop_(loop), reply_(std::move(reply)), handlers_(std::move(handlers)) {
    if (stream) pieces_ = streamed_pieces(reply_);
    if (stream) reply_.choices.clear();
  }
  void step_later() {
    loop_.post([self = shared_from_this()] { self->step(); });
  }
  void cancel() override { over_ = true; }
  void resume() override {
    if (std::exchange(paused_, false)) step_later();
  }

 private:
  void step() {
    if (over_) return;
    if (next_ == pieces_.size()) {
      over_ = true;
      return handlers_.on_done(std::move(reply_));
    }
    paused_ = handlers_.is_ready && !handlers_.is_ready();
    if (paused_) return;
    std::vector<ChatPiece> one;
    one.push_back(std::move(pieces_[next_++]));
    handlers_.on_pieces(std::move(one));
    step_later();
  }

  net::Loop& loop_;
  schemas::ChatReply reply_;
  CallHandlers handlers_;
  std::vector<ChatPiece> pieces_;
  std::size_t next_ = 0;
  bool over_ = false, paused_ = false;
};

}  // namespace

std::shared_ptr<Call> start_mock_chat(net::Loop& loop, const Target& target,
                                      const schemas::ChatRequest& request, bool stream,
                                      CallHandlers handlers) {
  auto call = std::make_shared<MockCall>(loop, mock_reply(target, request), stream, std::move(handlers));
  call->step_later();
  return call;
}

}  // namespace millrace::providers
