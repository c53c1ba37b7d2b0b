#include "ai/providers/call.h"

#include <algorithm>
#include <array>
#include <utility>

#include "ai/providers/json_access.h"
#include "ai/providers/split_character_joiner.h"
#include "ai/providers/upstream_error.h"
#include "ai/providers/wire_text.h"
#include "platform/base/log.h"
#include "platform/net/sse_reader.h"
#include "schemas/chat/chat_tokens.h"

namespace millrace::providers {
namespace {

// The path is inserted before the query of the base URL, if it has one (Azure's api-version).
std::string joined(const std::string& base_url, const std::string& path) {
  const std::size_t query = base_url.find('?');
  std::string url = base_url.substr(0, query);
  while (url.ends_with('/')) url.pop_back();
  url.append(path);
  if (query == std::string::npos) return url;
  const bool has_query = path.find('?') != std::string::npos;
  return url.append(has_query ? "&" : "?").append(base_url, query + 1);
}

}  // namespace

net::HttpRequest http_request(const Target& target, WireRequest wire) {
  net::HttpRequest request;
  request.method = "POST";
  request.url = joined(target.base_url, wire.path);
  request.headers = std::move(wire.headers);
  if (!target.key.empty())
    request.headers.push_back(translation(target.preset->family).credential(target.key));
  request.headers.insert(request.headers.end(), target.headers.begin(), target.headers.end());
  request.body = std::move(wire.body);
  request.own_connection = wire.own_connection;
  request.connect_timeout = target.timeouts.connect;
  request.first_byte_timeout = target.timeouts.first_byte;
  request.idle_timeout = target.timeouts.idle;
  request.total_timeout = target.timeouts.total;
  request.stall_timeout = std::chrono::seconds(0);
  request.identity_encoding = false;
  return request;
}

BodyForm body_form(int status, std::string_view content_type, bool stream) {
  if (status < 200 || status >= 300) return BodyForm::kError;
  if (content_type.starts_with("text/html")) return BodyForm::kForeign;
  if (!stream || content_type.starts_with("application/json")) return BodyForm::kWhole;
  const bool events = content_type.empty() || content_type.starts_with("text/event-stream");
  return events ? BodyForm::kEvents : BodyForm::kForeign;
}

base::Error too_long(const Target& target, std::size_t bytes_max) {
  return content_fault(target, "sent a reply of more than " + std::to_string(bytes_max) + " bytes");
}

base::Error event_too_long(const Target& target, std::size_t bytes_max) {
  return content_fault(target, "sent an event of more than " + std::to_string(bytes_max) + " bytes");
}

base::Error transport_error(const Target& target, const base::Error& error, BodyForm form,
                            std::size_t bytes_max) {
  if (error.code == base::Code::kTooLarge) return too_long(target, bytes_max);
  base::Error named = base::error(error.code, std::string(shown_name(target)) + ": " + error.message);
  named.is_free = error.is_free || form == BodyForm::kError;
  named.is_unanswered = error.is_unanswered;
  return named;
}

base::Error reading_failed(const Target& target, const std::exception& broken) {
  base::log_error("reply_translation_failed", {{"model", target.name}, {"error", broken.what()}});
  return content_fault(target, "sent a reply that cannot be read");
}

namespace {

// Time for the upstream to close the stream after the end marker. A stream closed in time keeps its
// connection reusable.
constexpr std::chrono::milliseconds kEndWait{250};
// A stream whose choices are all finished may still send usage. If nothing arrives for this time, it has
// ended.
constexpr std::chrono::milliseconds kQuietEnd{2'000};

constexpr std::size_t kStreamBufferBytes = 4096;  // curl's read buffer of a stream, held even when idle

schemas::ChatReply reply_of(const schemas::ChatMetadata& facts) {
  schemas::ChatReply reply;
  reply.id = facts.id;
  reply.created = facts.created;
  reply.model = facts.model;
  reply.usage = facts.usage;
  reply.service_tier = facts.service_tier;
  reply.system_fingerprint = facts.system_fingerprint;
  reply.extra = facts.extra;
  return reply;
}

// Converts a whole reply into the pieces of a stream.
std::vector<schemas::ChatPiece> pieces_of(schemas::ChatReply& reply) {
  std::vector<schemas::ChatPiece> pieces;
  for (schemas::ChatChoice& choice : std::exchange(reply.choices, {})) {
    schemas::ChatPiece& piece = pieces.emplace_back();
    piece.index = choice.index;
    piece.content = std::move(choice.content);
    piece.refusal = std::move(choice.refusal);
    piece.reasoning = std::move(choice.reasoning);
    for (schemas::ToolCall& call : choice.tool_calls) {
      const int index = static_cast<int>(piece.tool_calls.size());
      piece.tool_calls.push_back({index, std::move(call.id), std::move(call.type), std::move(call.name),
                                  std::move(call.arguments), std::move(call.extra)});
    }
    piece.finish_reason = std::move(choice.finish_reason);
    piece.logprobs = std::move(choice.logprobs);
    piece.extra = std::move(choice.extra);
    piece.reasoning_state = std::move(choice.reasoning_state);
  }
  return pieces;
}

class ChatCall final : public Call, public std::enable_shared_from_this<ChatCall> {
 public:
  ChatCall(net::Loop& loop, net::HttpClient& client, std::shared_ptr<const Target> target, bool stream,
           const CallLimits& limits, CallHandlers handlers)
      : loop_(loop),
        client_(client),
        target_owner_(std::move(target)),
        translation_(translation(target_.preset->family)),
        limits_(limits),
        handlers_(std::move(handlers)),
        stream_(stream),
        joiner_([this](const net::SseEvent& event) { on_event(event); }),
        sse_([this](const net::SseEvent& event) { joiner_.take(event); }, limits.event_bytes_max) {
    if (stream) reader_ = translation_.stream_reader(target_);
  }

  void start(WireRequest wire) {
    choices_ = wire.choices;
    if (reader_ && wire.may_pause) reader_->keep_turn();
    net::HttpClient::Handlers callbacks;  // on_done keeps this alive for all handlers
    callbacks.on_head = [this](const net::HttpReply& head) { on_head(head); };
    callbacks.on_data = [this](std::string_view bytes) { return on_data(bytes); };
    callbacks.on_done = [self = shared_from_this()](base::Result<net::HttpReply> reply) {
      self->transfer_.reset();
      self->end_wait_.cancel();
      self->character_wait_.cancel();
      if (!self->cancelled_) self->finish(self->safe_outcome(reply));
    };
    if (stream_ && handlers_.is_ready)
      callbacks.is_ready = [this] { return cancelled_ || is_over() || handlers_.is_ready(); };
    transfer_ = client_.start(request(std::move(wire)), std::move(callbacks));
  }

  void cancel() override {
    cancelled_ = true;
    end_wait_.cancel();
    character_wait_.cancel();
    if (transfer_) client_.cancel(std::exchange(transfer_, nullptr));
  }
  void resume() override {
    if (transfer_) net::HttpClient::resume(*transfer_);
  }

 private:
  net::HttpRequest request(WireRequest wire) const {
    net::HttpRequest request = http_request(target_, std::move(wire));
    request.body_bytes_max = bytes_max();
    request.reports_unanswered = true;
    if (stream_) request.read_buffer_bytes = kStreamBufferBytes;
    return request;
  }

  void on_head(const net::HttpReply& head) {
    const std::string_view type = cut_text(head.header("content-type"), 100);
    body_form_ = body_form(head.status, type, stream_);
    if (body_form_ == BodyForm::kForeign) content_type_ = type;
  }

  bool on_data(std::string_view bytes) {
    switch (body_form_) {
      case BodyForm::kForeign:
        return false;
      case BodyForm::kWhole:
        return collect(bytes);
      case BodyForm::kError:
        body_.append(bytes.substr(0, limits_.error_bytes_max - body_.size()));
        return body_.size() < limits_.error_bytes_max;
      case BodyForm::kEvents:
        break;
    }
    return receive_events(bytes);
  }

  bool receive_events(std::string_view bytes) {
    if (is_over()) return true;
    if (!sse_.feed(bytes) && !error_ && !is_over()) {
      joiner_.flush();
      if (!error_ && !is_over()) fail_with(event_too_long(target_, limits_.event_bytes_max));
    }
    send_pieces();
    if (!error_ && !cancelled_) await_end();
    return !error_ && !cancelled_;
  }

  void send_pieces() {
    if (pieces_.empty() || cancelled_) return;
    const auto pass_on = [&]() -> base::Status {
      handlers_.on_pieces(std::exchange(pieces_, {}));
      return {};
    };
    if (base::Status passed = read_safely(target_, pass_on); !passed && !error_) fail_with(passed.error());
  }

  // True if the end marker has arrived; nothing after it is read.
  bool is_over() const { return reader_ && !error_ && reader_->has_end_marker(); }

  // True if the reader has stopped us from reading, so that we cannot tell whether the upstream has sent
  // something.
  bool is_paused() const { return handlers_.is_ready && !handlers_.is_ready(); }

  void await_end() {
    if (const auto oldest = joiner_.oldest(); oldest != std::exchange(waiting_event_, oldest))
      await_character();
    const bool over = is_over();
    end_wait_.cancel();
    if (!over && (!reader_->complete(choices_) || reader_->is_continued())) return;
    end_wait_ = loop_.after(over ? kEndWait : kQuietEnd, [weak = weak_from_this()] {
      if (const auto self = weak.lock()) self->end_after_wait();
    });
  }

  void await_character() {
    character_wait_.cancel();
    if (!joiner_.is_holding()) return;
    character_wait_ = loop_.after(limits_.split_character_wait, [weak = weak_from_this()] {
      if (const auto self = weak.lock()) self->end_character_wait();
    });
  }

  // The rest of a character has not arrived in time. While reading is paused, the wait starts over.
  void end_character_wait() {
    if (!transfer_) return;
    if (is_paused()) return await_character();
    joiner_.pass_on_oldest();
    send_pieces();
    if (!transfer_) return;  // cancelled by the receiver of the pieces
    if (!error_) return await_end();
    client_.cancel(std::exchange(transfer_, nullptr));
    end_wait_.cancel();
    finish(safe_outcome(net::HttpReply()));
  }

  // Ends a finished completion whose upstream keeps the stream open. While reading is paused, the wait starts
  // over.
  void end_after_wait() {
    if (!transfer_) return;
    if (!is_over() && is_paused()) return await_end();
    client_.cancel(std::exchange(transfer_, nullptr));
    if (!cancelled_) finish(safe_outcome(net::HttpReply()));
  }

  bool collect(std::string_view bytes) {
    if (bytes.size() > limits_.reply_bytes_max - body_.size()) {
      fail_with(too_long(target_, limits_.reply_bytes_max));
      return false;
    }
    body_.append(bytes);
    return true;
  }

  void fail_with(base::Error error) { error_ = std::make_unique<base::Error>(std::move(error)); }

  void on_event(const net::SseEvent& event) {
    if (error_ || cancelled_ || is_over()) return;
    const auto read = [&] { return reader_->read(event, pieces_); };
    if (base::Status status = read_safely(target_, read); !status) fail_with(status.error());
  }

  base::Result<schemas::ChatReply> safe_outcome(const base::Result<net::HttpReply>& reply) {
    return read_safely(target_, [&] { return outcome(reply); });
  }

  base::Result<schemas::ChatReply> outcome(const base::Result<net::HttpReply>& reply) {
    joiner_.flush();
    const int choices = reply ? 1 : choices_;  // a stream closed by the upstream may have fewer
    const std::string stray = sse_.stray();
    const std::string message = stray.empty() ? "" : translation_.error_message(stray);
    const bool is_complete = body_form_ == BodyForm::kEvents && reader_->complete(choices);
    if (is_complete && !error_ && message.empty()) reader_->end(pieces_);
    send_pieces();
    if (error_) return *std::move(error_);
    if (!message.empty()) return stream_error(target_, 0, message);
    if (!reply && !is_complete) return transport_error(target_, reply.error(), body_form_, bytes_max());
    if (!is_complete && body_form_ == BodyForm::kError)
      return upstream_error(target_, reply->status, reply->headers, body_);
    switch (body_form_) {
      case BodyForm::kForeign:
        return fault(target_, "answered with " + content_type_ + " instead of a reply of its API");
      case BodyForm::kEvents:
        if (!is_complete) return fault(target_, "ended its stream before the completion was over");
        return reply_of(reader_->facts());
      case BodyForm::kWhole:
      case BodyForm::kError:
        break;
    }
    return whole_reply();
  }

  // Also used if the upstream ignores the request to stream.
  base::Result<schemas::ChatReply> whole_reply() {
    is_unparsed_ = !stream_ && handlers_.on_unparsed && body_.size() > CallHandlers::kParsedOnLoopMax;
    if (is_unparsed_) return schemas::ChatReply();
    base::Result<schemas::ChatReply> reply =
        read_safely(target_, [&] { return translation_.chat_reply(target_, body_); });
    is_rejected_ = !reply;
    if (reply && stream_) handlers_.on_pieces(pieces_of(*reply));
    return reply;
  }

  std::size_t bytes_max() const { return stream_ ? 4 * limits_.reply_bytes_max : limits_.reply_bytes_max; }

  void finish(base::Result<schemas::ChatReply> outcome) {
    const CallHandlers callbacks = std::exchange(handlers_, {});
    if (cancelled_) return;
    if (outcome && is_unparsed_) return callbacks.on_unparsed(std::move(body_));
    if (!outcome && callbacks.on_failed_usage) {
      if (auto usage = failed_usage()) callbacks.on_failed_usage(std::move(usage));
    }
    if (callbacks.on_done) callbacks.on_done(std::move(outcome));
  }

  std::unique_ptr<FailedUsage> failed_usage() const {
    if (is_rejected_) return rejected_usage(target_, body_);
    if (body_form_ != BodyForm::kEvents || !reader_->facts().usage) return nullptr;
    return std::make_unique<FailedUsage>(FailedUsage{.reported = reader_->facts().usage});
  }

  net::Loop& loop_;
  net::HttpClient& client_;
  const std::shared_ptr<const Target> target_owner_;
  const Target& target_ = *target_owner_;
  const Translation& translation_;
  const CallLimits limits_;
  CallHandlers handlers_;
  const bool stream_;
  SplitCharacterJoiner joiner_;
  net::SseReader sse_;
  std::unique_ptr<StreamReader> reader_;
  std::shared_ptr<net::HttpClient::Transfer> transfer_;
  net::Loop::Timer end_wait_, character_wait_;
  std::optional<std::size_t> waiting_event_;  // that `character_wait_` is for
  std::vector<schemas::ChatPiece> pieces_;
  std::unique_ptr<base::Error> error_;
  std::string content_type_, body_;
  BodyForm body_form_ = BodyForm::kWhole;
  int choices_ = 1;
  bool cancelled_ = false, is_unparsed_ = false, is_rejected_ = false;
};

// Estimated from the texts of an answer: of its content, its thoughts and the arguments of its calls.
std::int64_t text_tokens(const Json& node, std::string_view name = {}) {
  static constexpr std::array<std::string_view, 7> kTexts{
      "content", "text", "refusal", "reasoning_content", "reasoning", "thinking", "arguments"};
  if (node.is_string())
    return std::ranges::count(kTexts, name) > 0 ? schemas::estimated_tokens(text_of(&node)) : 0;
  std::int64_t sum = 0;
  if (node.is_object()) {
    for (const auto& [key, value] : node.items()) sum += text_tokens(value, key);
  } else if (node.is_array()) {
    for (const Json& each : node) sum += text_tokens(each, name);
  }
  return sum;
}

}  // namespace

std::unique_ptr<FailedUsage> rejected_usage(const Target& target, std::string_view body) {
  const std::optional<Json> reply = parse_wire(body);
  if (!reply || !reply->is_object()) return nullptr;
  FailedUsage usage{.reported = translation(target.preset->family).reply_usage(*reply)};
  for (const char* name : {"choices", "candidates", "content"}) {
    if (const Json* answer = member(*reply, name)) usage.content_tokens += text_tokens(*answer, name);
  }
  const bool is_known = usage.reported || usage.content_tokens > 0;
  return is_known ? std::make_unique<FailedUsage>(usage) : nullptr;
}

std::shared_ptr<Call> start_chat(net::Loop& loop, net::HttpClient& client,
                                 std::shared_ptr<const Target> target, WireRequest request, bool stream,
                                 const CallLimits& limits, CallHandlers handlers) {
  auto call =
      std::make_shared<ChatCall>(loop, client, std::move(target), stream, limits, std::move(handlers));
  call->start(std::move(request));
  return call;
}

}  // namespace millrace::providers
