#pragma once
#include <condition_variable>
#include <functional>
#include <future>
#include <mutex>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "ai/providers/call.h"
#include "tests/support/answer.h"
#include "tests/support/plain_http.h"
#include "tests/unit/providers/openai_cases.h"
#include "tests/unit/providers/scripted_upstream.h"

namespace millrace::providers::testing {

using Reply = base::Result<schemas::ChatReply>;

inline constexpr std::string_view kReply =
    R"({"id":"c","choices":[{"index":0,"message":{"content":"hi"},"finish_reason":"stop"}]})";

inline std::string content_event(const std::string& content) {
  return R"({"id":"c","choices":[{"index":0,"delta":{"content":")" + content + R"("}}]})";
}
inline constexpr const char* kEnd = R"({"choices":[{"index":0,"delta":{},"finish_reason":"stop"}]})";

// Calls of one client on one loop, and the events that they received.
class Calls : public ::testing::Test {
 protected:
  struct Received {
    std::mutex mutex;
    std::condition_variable changed;
    std::string content;
    std::vector<schemas::ToolCallPiece> tool_calls;
    bool ready = true;
    support::Answer<schemas::ChatReply> end;
  };

  Reply reply_of(ScriptedUpstream& upstream, bool stream) {
    start(upstream, stream);
    return received_.end.wait();
  }

  void start(ScriptedUpstream& upstream, bool stream) {
    start(target_of("openai", "gpt-4o", upstream.base_url()), stream, request_of({}));
  }

  void start(Target target, bool stream, const schemas::ChatRequest& request) {
    received_.end = {};
    received_.content.clear();
    target.timeouts = timeouts_;
    std::promise<void> started;
    loop_.post([&] {
      auto wire = translation(target.preset->family).chat_request(target, request, stream);
      call_ = start_chat(loop_, client_, std::make_shared<const Target>(target), *std::move(wire), stream,
                         limits_, handlers());
      started.set_value();
    });
    started.get_future().wait();
  }

  CallHandlers handlers() {
    CallHandlers handlers;
    handlers.on_pieces = [this](std::vector<schemas::ChatPiece>&& pieces) {
      const std::lock_guard lock(received_.mutex);
      for (const schemas::ChatPiece& piece : pieces) {
        received_.content += piece.content.value_or("");
        for (const auto& call : piece.tool_calls) received_.tool_calls.push_back(call);
      }
      received_.changed.notify_all();
      if (on_content_) on_content_(received_.content);
    };
    handlers.is_ready = [this] {
      const std::lock_guard lock(received_.mutex);
      return received_.ready;
    };
    handlers.on_done = received_.end.take();
    return handlers;
  }

  void release() {
    {
      const std::lock_guard lock(received_.mutex);
      EXPECT_EQ("", received_.content);
      received_.ready = true;
    }
    loop_.post([this] { call_->resume(); });
  }

  bool receives(const std::string& content) {
    std::unique_lock lock(received_.mutex);
    return support::wait_until(received_.changed, lock, [&] { return received_.content == content; });
  }

  Received received_;
  std::function<void(const std::string& content)> on_content_;  // on the loop, under the lock; may be null
  Target::Timeouts timeouts_;
  CallLimits limits_;
  net::Loop loop_{"test"};
  net::HttpClient client_{loop_, support::plain_http()};
  std::shared_ptr<Call> call_;
};

}  // namespace millrace::providers::testing
