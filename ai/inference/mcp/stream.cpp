#include "ai/inference/mcp/stream.h"

#include <algorithm>
#include <utility>

#include "platform/net/http/http_task.h"
#include "platform/net/sse_reader.h"
#include "schemas/json/url_text.h"

namespace millrace::inference {
namespace {

using std::chrono::milliseconds;

base::Error not_in_time(const char* what) {
  return base::error(base::Code::kUpstreamTimeout,
                     std::string("the server did not ").append(what) + " in time");
}

milliseconds time_until(McpDeadline deadline) {
  const auto left = std::chrono::duration_cast<milliseconds>(deadline - std::chrono::steady_clock::now());
  return std::max(left, milliseconds(1));
}

base::Error no_stream(const net::HttpReply& head) {
  return mcp_fault("did not open an event stream (HTTP " + std::to_string(head.status) + ")");
}

bool is_stream(const net::HttpReply& head) {
  return head.status == 200 && head.header("content-type").starts_with("text/event-stream");
}

// The server refuses the POST of `initialize` as a server without this URL or method does.
bool refuses_post(const McpReply& reply) {
  const bool is_refusal = reply.status == 400 || reply.status == 404 || reply.status == 405;
  return is_refusal && reply.message.kind == McpMessage::Kind::kNone;
}

}  // namespace

base::Result<std::string> mcp_message_url(std::string_view stream_url, std::string_view url) {
  const std::string_view origin = schemas::url_origin(stream_url);
  if (schemas::plausible_url(url) && schemas::url_origin(url) == origin) return std::string(url);
  if (url.starts_with('/') && !url.starts_with("//")) return std::string(origin).append(url);
  return mcp_fault("gave a URL for messages on another origin");
}

// Receives the stream. Callbacks may still arrive after the McpStream has released it.
struct McpStream::EventReader {
  EventReader(McpStream& stream, std::size_t event_bytes_max)
      : owner(&stream),
        events(
            [this](const net::SseEvent& event) {
              if (owner != nullptr) owner->on_event(event.event, event.data);
            },
            event_bytes_max) {}

  bool take(std::string_view bytes) {
    if (owner != nullptr && !events.feed(bytes)) owner->end(mcp_fault("sent an event that is too long"));
    return owner != nullptr;
  }
  void end(const base::Error& why) {
    if (owner != nullptr) owner->end(why);
  }

  McpStream* owner;  // null: released
  net::SseReader events;
  std::function<void()> abandon;
};

base::Status McpStream::listen(McpDeadline deadline) {
  auto reader = std::make_shared<EventReader>(*this, limits_.reply_bytes_max);
  net::HttpClient::Handlers handlers;
  handlers.on_head = [reader](const net::HttpReply& head) {
    if (!is_stream(head)) reader->end(no_stream(head));
  };
  handlers.on_data = [reader](std::string_view bytes) { return reader->take(bytes); };
  handlers.on_done = [reader](const base::Result<net::HttpReply>& done) {
    if (!done) return reader->end(done.error());
    reader->end(is_stream(*done) ? mcp_fault("ended its stream before the response") : no_stream(*done));
  };
  event_reader_ = reader;
  base::Result<std::function<void()>> begun = channel_.listen(std::move(handlers), deadline);
  if (!begun) return begun.error();
  reader->abandon = *std::move(begun);
  return {};
}

net::Task<base::Result<McpReply>> McpStream::initialize(std::function<McpPost()> make_post,
                                                        std::function<bool()> is_first, McpDeadline deadline,
                                                        net::Cancel& cancel) {
  if (in_use_) {
    net::Task<base::Status> open_known = open(deadline, cancel);
    const base::Status opened = co_await open_known;
    if (!opened) co_return opened.error();
    net::Task<Answer> wait = post(make_post(), cancel);
    co_return co_await wait;
  }
  net::Task<Answer> wait = channel_.post(make_post(), cancel);
  Answer reply = co_await wait;
  if (!reply || !is_first() || !may_be_detected_ || !refuses_post(*reply)) co_return reply;
  const McpDeadline endpoint_by =
      std::min(deadline, std::chrono::steady_clock::now() + limits_.endpoint_timeout);
  net::Task<base::Status> try_open = open(endpoint_by, cancel);
  const base::Status opened = co_await try_open;
  if (!opened) co_return reply;
  in_use_ = true;
  net::Task<Answer> again = post(make_post(), cancel);
  co_return co_await again;
}

net::Task<base::Status> McpStream::open(McpDeadline deadline, net::Cancel& cancel) {
  close();
  net::StartCall<base::Status> begin = [&](std::function<void(base::Status)> done) -> std::function<void()> {
    opening_ = std::move(done);
    if (base::Status begun = listen(deadline); !begun) opened(std::move(begun));
    return [this] { close(); };
  };
  net::Loop::Timer late =
      loop_.after(time_until(deadline), [this] { end(not_in_time("send the URL for messages")); });
  net::Task<std::optional<base::Status>> wait =
      net::cancellable<base::Status>(loop_, std::move(begin), cancel);
  std::optional<base::Status> status = co_await wait;
  late.cancel();
  if (!status) co_return net::cancelled();
  co_return *std::move(status);
}

void McpStream::opened(base::Status status) {
  if (auto done = std::exchange(opening_, {})) done(std::move(status));
}

void McpStream::on_event(const std::string& event, const std::string& data) {
  if (event == "endpoint") {
    base::Result<std::string> url = mcp_message_url(channel_.url(), data);
    if (!url) return end(url.error());
    message_url_ = *std::move(url);
    return opened({});
  }
  if (data.empty()) return;
  base::Result<McpMessage> message = read_mcp_message(data);
  if (!message) return end(message.error());
  on_message(*std::move(message));
}

void McpStream::on_message(McpMessage message) {
  switch (message.kind) {
    case McpMessage::Kind::kNone:
      return;
    case McpMessage::Kind::kNotification:
      if (message.method == kMcpToolsChanged) channel_.tools_changed();
      return;
    case McpMessage::Kind::kRequest:
      if (++requests_ > kMcpServerRequestsMax) {
        end(mcp_fault("sent more than " + std::to_string(kMcpServerRequestsMax) +
                      " requests before its response"));
      } else if (is_open()) {
        channel_.send_detached("POST", {}, mcp_answer(message), message_url_);
      }
      return;
    case McpMessage::Kind::kResult:
    case McpMessage::Kind::kError:
      break;
  }
  if (!message.id.is_number_integer()) return;
  requests_ = 0;
  const auto id = message.id.get<std::int64_t>();
  McpReply reply;
  reply.status = 200;
  reply.message = std::move(message);
  answer(id, std::move(reply));
}

void McpStream::answer(std::int64_t id, Answer answer) {
  const auto found = waiting_.find(id);
  if (found == waiting_.end()) return;
  if (auto done = std::exchange(found->second.done, {})) return done(std::move(answer));
  found->second.early_answer.emplace(std::move(answer));
}

// Callbacks run last, when the stream is closed: they may open a new stream at once or destroy this object.
void McpStream::end(base::Error why) {
  const auto opening = std::exchange(opening_, {});
  std::vector<OnAnswer> callbacks;
  for (auto& [id, waiting] : waiting_) {
    if (!waiting.done && !waiting.early_answer) waiting.early_answer.emplace(why);
    if (waiting.done) callbacks.push_back(std::exchange(waiting.done, {}));
  }
  close();
  for (const OnAnswer& callback : callbacks) callback(why);
  if (opening) opening(why);
}

// The response may arrive on the stream before the POST has completed.
net::Task<base::Result<McpReply>> McpStream::post(McpPost post, net::Cancel& cancel) {
  if (!is_open()) co_return mcp_fault("ended its stream");
  const std::int64_t id = std::exchange(post.id, 0);
  const McpDeadline deadline = post.deadline;
  post.in_session = false;
  post.url = message_url_;
  if (id != 0) waiting_.emplace(id, PendingCall());
  net::Task<Answer> send = channel_.post(std::move(post), cancel);
  Answer sent = co_await send;
  if (sent && sent->status < 300 && id != 0) {
    net::Task<Answer> wait = answer_to(id, deadline, cancel);
    sent = co_await wait;
  } else if (sent && is_lost_session(*sent)) {
    end(mcp_fault("lost its stream"));
  }
  waiting_.erase(id);
  co_return sent;
}

net::Task<base::Result<McpReply>> McpStream::answer_to(std::int64_t id, McpDeadline deadline,
                                                       net::Cancel& cancel) {
  PendingCall& waiting = waiting_.at(id);
  if (waiting.early_answer) co_return *std::move(waiting.early_answer);
  net::StartCall<Answer> begin = [&waiting](OnAnswer done) -> std::function<void()> {
    waiting.done = std::move(done);
    return [&waiting] { waiting.done = {}; };
  };
  net::Loop::Timer late =
      loop_.after(time_until(deadline), [this, id] { answer(id, not_in_time("answer")); });
  net::Task<std::optional<Answer>> wait = net::cancellable<Answer>(loop_, std::move(begin), cancel);
  std::optional<Answer> early_answer = co_await wait;
  late.cancel();
  if (!early_answer) co_return net::cancelled();
  co_return *std::move(early_answer);
}

// Waiting requests are ended by `end` or are cancelled.
void McpStream::close() {
  message_url_.clear();
  opening_ = {};
  requests_ = 0;
  if (const auto reader = std::exchange(event_reader_, nullptr)) {
    reader->owner = nullptr;
    if (const auto abandon = std::exchange(reader->abandon, {})) abandon();
  }
}

}  // namespace millrace::inference
