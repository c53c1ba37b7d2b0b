#pragma once
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "platform/net/http_client.h"
#include "schemas/chat_job.h"
#include "tests/unit/workers/house.h"
#include "workers/chat_runner.h"

namespace millrace::workers {

// A house whose worker answers deferred completions, with a Chat on a loop of its own.
class ChatHouse {
 public:
  explicit ChatHouse(inference::ModelSettings models, int slots = 4) : house({.with_worker = false}) {
    Worker::Options options;
    options.data_dir = house.dir.str();
    options.lease = house.options.lease;
    options.look_min = house.options.look_min;
    options.look_max = house.options.look_max;
    worker = std::move(Worker::make(options, house.ground()).value());
    chat = std::make_unique<inference::Chat>(
        inference::Chat::Ground{chat_loop, http, guard, house.pool, house.metrics, {}},
        std::make_shared<const inference::Registry>(std::move(models)));
    worker->add(schemas::Kind::kChat, slots, std::make_unique<ChatRunner>(source()));
    worker->start();
  }
  ~ChatHouse() {
    worker->drain(std::chrono::seconds(5));
    worker.reset();
    EXPECT_TRUE(chat->stop());
  }

  ChatSource source() { return {*chat, chat_loop}; }
  static inference::ModelSettings mock_models() {
    inference::ModelSettings settings;
    settings.mock = true;
    return settings;
  }
  // As the API makes it of a client's body.
  static schemas::ChatRequest request(const nlohmann::json& more = nlohmann::json::object()) {
    nlohmann::json body = {{"model", "mock/chat"},
                           {"messages", nlohmann::json::array({{{"role", "user"}, {"content", "one two"}}})}};
    body.update(more);
    std::string text = body.dump();
    text.reserve(text.size() + schemas::kJsonPadding);
    return schemas::parse_chat_request(text).value();
  }
  schemas::JobId submit(jobs::Order order, const std::string& model = "mock/chat") {
    order.id = house.submitter->new_id(schemas::Kind::kChat);
    order.tenant = "default";
    order.model = model;
    Answer<storage::Submitted> answer;
    house.submitter->submit(std::move(order), answer.take());
    return answer.wait().value().job;
  }
  schemas::JobId submit_for(const std::string& model) {
    jobs::Order order;
    order.spec = schemas::chat_spec(request({{"model", model}, {"deferred", true}}));
    return submit(std::move(order), model);
  }
  std::vector<std::string> history(const schemas::JobId& job) {
    std::vector<std::string> types;
    const auto events = storage::JobQueries(*house.store).events("default", job, 0, 20).value();
    for (const schemas::JobEvent& event : events) types.push_back(event.type);
    return types;
  }

  House house;
  net::Loop chat_loop{"chat"};
  std::unique_ptr<Worker> worker;
  const net::FetchGuard guard{{}};
  net::HttpClient http{chat_loop};
  std::unique_ptr<inference::Chat> chat;
};

}  // namespace millrace::workers
