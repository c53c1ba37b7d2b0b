#include "ai/inference/mcp/channel.h"

#include <algorithm>
#include <optional>

#include "ai/inference/chat/run_on_pool.h"
#include "platform/net/http/http_task.h"

namespace millrace::inference {
namespace {

using std::chrono::milliseconds;

constexpr int kResumesMax = 8;  // resumptions of one broken stream
constexpr milliseconds kResumeAfter{250};
constexpr milliseconds kNotifyTimeout{10'000};

milliseconds left_until(McpDeadline deadline) {
  const auto left = deadline - std::chrono::steady_clock::now();
  return std::max(std::chrono::duration_cast<milliseconds>(left), milliseconds(1));
}

}  // namespace

McpChannel::McpChannel(net::Loop& loop, net::HttpClient& client, const net::FetchGuard& guard,
                       McpEndpoint endpoint, const McpLimits& limits, std::function<void()> on_tools_changed)
    : loop_(loop),
      client_(client),
      guard_(guard),
      endpoint_(std::move(endpoint)),
      limits_(limits),
      on_tools_changed_(std::move(on_tools_changed)) {}

base::Result<net::HttpRequest> McpChannel::request(std::string method, McpHeaders headers,
                                                   McpDeadline deadline, const std::string& url) const {
  net::HttpRequest out;
  out.method = std::move(method);
  out.url = url.empty() ? endpoint_.url : url;
  if (endpoint_.guarded) {
    base::Result<net::FetchTarget> target = guard_.check_url(out.url, "mcp_servers");
    if (!target) return target.error();
    out.url = target->url;
    out.address_filter = [guard = &guard_, target = *std::move(target)](const sockaddr& address) {
      return guard->check_address(target, address);
    };
  }
  out.headers = std::move(headers);
  out.headers.emplace_back("Accept",
                           out.method == "GET" ? "text/event-stream" : "application/json, text/event-stream");
  if (out.method == "POST") out.headers.emplace_back("Content-Type", "application/json");
  out.headers.insert(out.headers.end(), endpoint_.headers.begin(), endpoint_.headers.end());
  out.total_timeout = left_until(deadline);
  out.connect_timeout = std::min(limits_.connect_timeout, out.total_timeout);
  out.stall_timeout = std::chrono::seconds(0);
  out.body_bytes_max = limits_.reply_bytes_max;
  return out;
}

net::Task<base::Result<McpReply>> McpChannel::exchange(net::HttpRequest request,
                                                       std::shared_ptr<McpResponseReader> reader,
                                                       net::Cancel& cancel) {
  using Transfer = base::Result<net::HttpReply>;
  net::Begin<Transfer> begin = [&](std::function<void(Transfer)> done) -> std::function<void()> {
    net::HttpClient::Handlers handlers;
    handlers.on_head = [reader](const net::HttpReply& head) { reader->begin(head); };
    handlers.on_data = [reader](std::string_view bytes) { return reader->take(bytes); };
    handlers.on_done = std::move(done);
    return [&client = client_, transfer = client_.start(std::move(request), std::move(handlers))] {
      client.cancel(transfer);
    };
  };
  net::Task<std::optional<Transfer>> wait = net::cancellable<Transfer>(loop_, std::move(begin), cancel);
  const std::optional<Transfer> transfer = co_await wait;
  if (!transfer) co_return cancelled();
  co_return reader->end(*transfer);
}

net::Task<base::Result<McpReply>> McpChannel::post(McpPost post, net::Cancel& cancel) {
  auto reader = std::make_shared<McpResponseReader>(
      post.id, limits_.reply_bytes_max,
      [this, &post](const McpMessage& message) { on_message(message, post); });
  base::Result<net::HttpRequest> next = request("POST", post.headers, post.deadline, post.url);
  if (next) {
    next->body = std::move(post.body);
    next->own_connection = post.once;
  }
  for (int resumed = 0;; ++resumed) {
    if (!next) co_return reader->end(next.error());
    net::Task<base::Result<McpReply>> wait = exchange(*std::move(next), reader, cancel);
    base::Result<McpReply> reply = co_await wait;
    if (resumed > 0 && reply && reply->status >= 300)
      co_return mcp_fault("ended its stream before the response");
    const std::string place = reader->resume_event_id();
    if (reply || place.empty() || !post.in_session || resumed == kResumesMax) co_return reply;
    net::Task<bool> rest = net::pause(loop_, kResumeAfter, cancel);
    const bool still_wanted = co_await rest;
    if (!still_wanted) co_return cancelled();
    McpHeaders headers = post.headers;
    headers.emplace_back("Last-Event-ID", place);
    next = request("GET", std::move(headers), post.deadline);
  }
}

void McpChannel::on_message(const McpMessage& message, const McpPost& post) {
  const bool is_request = message.kind == McpMessage::Kind::kRequest;
  if (is_request && post.in_session) send_detached("POST", post.headers, mcp_answer(message));
  if (!is_request && message.method == kMcpToolsChanged) on_tools_changed_();
}

base::Result<std::function<void()>> McpChannel::listen(net::HttpClient::Handlers handlers,
                                                       McpDeadline begun_by) {
  base::Result<net::HttpRequest> out = request("GET", {}, begun_by);
  if (!out) return out.error();
  out->first_byte_timeout = std::exchange(out->total_timeout, milliseconds(0));
  out->body_bytes_max = limits_.stream_bytes_max;
  return std::function<void()>(
      [&client = client_, transfer = client_.start(*std::move(out), std::move(handlers))] {
        client.cancel(transfer);
      });
}

void McpChannel::send_detached(std::string method, McpHeaders headers, std::string body,
                               const std::string& url) {
  base::Result<net::HttpRequest> out =
      request(std::move(method), std::move(headers), std::chrono::steady_clock::now() + kNotifyTimeout, url);
  if (!out) return;
  out->body = std::move(body);
  client_.start(*std::move(out), {});
}

}  // namespace millrace::inference
