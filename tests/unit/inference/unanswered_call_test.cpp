#include <algorithm>
#include <atomic>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "ai/inference/chat/chat.h"
#include "ai/inference/media/media.h"
#include "tests/support/answer.h"
#include "tests/unit/inference/chat_fixture.h"
#include "tests/unit/inference/scripted_upstream.h"
#include "tests/unit/providers/scripted_upstream.h"

// Calls on kept-alive connections that the upstream has closed meanwhile.
namespace millrace::inference {
namespace {

using KeptUpstream = providers::testing::ScriptedUpstream;
using testing::ChatFixture;
using testing::Received;

const std::string kHello =
    R"({"choices":[{"index":0,"message":{"role":"assistant","content":"hello"},"finish_reason":"stop"}],)"
    R"("usage":{"prompt_tokens":3,"completion_tokens":2,"total_tokens":5}})";
const std::string kVector = R"({"data":[{"index":0,"embedding":[0.5]}],"usage":{"prompt_tokens":1}})";

// Answers all requests except those of the given numbers, from 1: it closes their connections.
class Closing {
 public:
  explicit Closing(std::vector<int> closed) : closed_(std::move(closed)) {}
  int requests() const { return requests_; }
  ModelSettings settings() const {
    ModelRow row = testing::row("a/m", "openai");
    row.target.base_url = upstream_.base_url() + "/v1";
    row.price = Price{.prompt = 1'000'000, .completion = 0, .cached = {}};
    return testing::models({row});
  }

 private:
  void answer(KeptUpstream::Exchange& exchange) {
    if (std::ranges::count(closed_, ++requests_) > 0) return exchange.close();
    const bool is_embedding = exchange.head.find("/embeddings") != std::string::npos;
    const bool is_stream = exchange.body.find(R"("stream":true)") != std::string::npos;
    const std::string events = testing::chunk(R"({"content":"hello"})", R"("stop")") + "data: [DONE]\n\n";
    const std::string& body = is_stream ? events : is_embedding ? kVector : kHello;
    exchange.send(std::string("HTTP/1.1 200 OK\r\nContent-Type: ") +
                  (is_stream ? "text/event-stream" : "application/json") +
                  "\r\nContent-Length: " + std::to_string(body.size()) + "\r\n\r\n" + body);
  }

  const std::vector<int> closed_;
  std::atomic<int> requests_ = 0;
  KeptUpstream upstream_{[this](KeptUpstream::Exchange& exchange) { answer(exchange); }};
};

ChatOptions one_try() {
  ChatOptions options = ChatFixture::quick();
  options.tries_max = 1;
  return options;
}

TEST(UnansweredCall, IsRepeatedOnceAndCountedWholeAndStreamed) {
  for (const bool is_stream : {false, true}) {
    Closing upstream({2});
    ChatFixture dependencies(upstream.settings(), one_try());
    schemas::ChatRequest request = testing::request("a/m");
    request.stream = is_stream;
    Received first, second;
    ASSERT_TRUE(dependencies.answer(request, first));
    const auto end = dependencies.answer(request, second);
    ASSERT_TRUE(end) << end.error().message;
    EXPECT_EQ("hello", is_stream ? second.text() : end->reply.choices.at(0).content.value_or(""));
    EXPECT_EQ(3, upstream.requests());
    EXPECT_EQ(2, second.sendings) << "a job records each of them before it is sent";
    EXPECT_EQ(2, second.heads.at(0).attempts);
    EXPECT_TRUE(is_stream || end->cost_usd == 3) << "as of one call";
    EXPECT_NE(std::string::npos,
              dependencies.metrics.scrape().find(
                  R"(millrace_upstream_errors_total{code="upstream_error",model="a/m"} 1)"))
        << dependencies.metrics.scrape();
  }
}

TEST(UnansweredCall, OfAnEmbeddingIsRepeatedAndCountedToo) {
  Closing upstream({2});
  ModelSettings settings = upstream.settings();
  settings.models[0].abilities = {Ability::kEmbeddings};
  ChatFixture dependencies(std::move(settings), one_try());
  base::Pool pool{base::Pool::Options{}};
  MediaClient media(dependencies.chat, pool);
  for (const int attempts : {1, 2}) {
    schemas::EmbeddingRequest request;
    request.model = "a/m";
    request.texts = {"x"};
    support::Answer<EmbeddingResult> answer;
    std::shared_ptr<ChatRun> run;
    dependencies.on_loop([&] { run = media.embed(std::move(request), answer.take()); });
    const auto end = answer.wait();
    ASSERT_TRUE(end) << end.error().message;
    EXPECT_EQ(attempts, end->head.attempts);
  }
  EXPECT_EQ(3, upstream.requests());
  pool.close();
}

TEST(UnansweredCall, IsRepeatedOnlyOnceAndSaysNothingAboutTheTarget) {
  Closing upstream({2, 3, 5, 6, 8, 9, 11, 12});
  ChatFixture dependencies(upstream.settings(), one_try());
  for (int i = 0; i < 4; ++i) {
    Received good, bad;
    ASSERT_TRUE(dependencies.answer(testing::request("a/m"), good)) << i;
    EXPECT_FALSE(dependencies.answer(testing::request("a/m"), bad)) << "the new connection was closed, too";
    EXPECT_EQ(3 * (i + 1), upstream.requests());
    EXPECT_EQ(2, bad.failed->attempts);
  }
}

}  // namespace
}  // namespace millrace::inference
