#pragma once
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "platform/net/http/http_client.h"
#include "schemas/chat/chat_job.h"
#include "tests/unit/workers/worker_fixture.h"
#include "workers/chat/chat_run.h"

namespace millrace::workers {

// A worker that runs deferred completions, with a Chat on a separate loop.
class ChatFixture {
 public:
  explicit ChatFixture(inference::ModelSettings models, int slots = 4)
      : ChatFixture(std::move(models), slots,
                    {.drain_grace = std::chrono::seconds(10), .with_worker = false}) {}
  ChatFixture(inference::ModelSettings models, int slots, WorkerFixture::Options options)
      : fixture(std::move(options)) {
    worker = fixture.bare_worker();
    chat = std::make_unique<inference::Chat>(
        inference::Chat::Dependencies{chat_loop, http, guard, fixture.pool, fixture.metrics, {}},
        std::make_shared<const inference::Registry>(std::move(models)));
    worker->add(schemas::Kind::kChat, {slots}, std::make_unique<ChatRunner>(source(), secret_key));
    worker->start();
  }
  ~ChatFixture() {
    worker->drain(std::chrono::seconds(5));
    worker.reset();
    EXPECT_TRUE(chat->stop());
  }

  const std::string secret_key = std::string(32, 'k');
  ChatSource source() { return {*chat, chat_loop}; }
  static inference::ModelSettings mock_models() {
    inference::ModelSettings settings;
    settings.mock = true;
    return settings;
  }
  // The request as the API parses it from a client's body.
  static schemas::ChatRequest request(const schemas::Json& more = schemas::Json::object()) {
    schemas::Json body = {{"model", "mock/chat"},
                          {"messages", schemas::Json::array({{{"role", "user"}, {"content", "one two"}}})}};
    body.update(more);
    std::string text = body.dump();
    text.reserve(text.size() + schemas::kJsonPadding);
    return schemas::parse_chat_request(text).value();
  }
  schemas::JobId submit(storage::Submission order, const std::string& model = "mock/chat") {
    order.id = fixture.submitter->new_id(schemas::Kind::kChat);
    order.model = model;
    return fixture.submit(std::move(order));
  }
  schemas::JobId submit_for(const std::string& model) {
    storage::Submission order;
    order.spec = schemas::chat_spec(request({{"model", model}, {"deferred", true}}));
    return submit(std::move(order), model);
  }
  std::vector<std::string> history(const schemas::JobId& job) { return fixture.event_types(job); }

  WorkerFixture fixture;
  net::Loop chat_loop{"chat"};
  std::unique_ptr<Worker> worker;
  const net::FetchGuard guard{{}};
  net::HttpClient http{chat_loop};
  std::unique_ptr<inference::Chat> chat;
};

}  // namespace millrace::workers
