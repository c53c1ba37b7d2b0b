#include <gtest/gtest.h>

#include "tests/support/wait_until.h"
#include "tests/unit/api/served.h"

namespace millrace::api::test {
namespace {

class ReplyBudget : public Served {
 protected:
  // A job with a result of `bytes` bytes.
  std::string job_with(std::size_t bytes) {
    const std::string id = post("/v1/ocr", ocr_body(pdf_of(9)), "Prefer: respond-async\r\n").json()["id"];
    finish(claim()->lease, R"({"pages":")" + std::string(bytes - 12, 'm') + R"("})");
    return id;
  }
  static std::string result_of(const std::string& id) { return "/v1/jobs/" + id + "/result"; }
  // A deferred chat with a message of `bytes` bytes.
  std::string chat_of(std::size_t bytes) {
    const nlohmann::json body = {
        {"model", "mock/chat"}, {"messages", std::string(bytes, 'a')}, {"deferred", true}};
    return post("/v1/chat/completions", body.dump()).json()["request_id"];
  }
  static std::string request_of(const std::string& id) { return "/v1/jobs/" + id + "/request"; }
  std::size_t held() {
    const std::string name = "\nmillrace_in_flight_reply_bytes ";
    const std::string all = metrics.scrape();
    return std::stoul(all.substr(all.find(name) + name.size()));
  }
  bool holds(std::size_t bytes) {
    return support::wait_until([&] { return held() == bytes; });
  }
  void expect_later(const Answer& answer, const std::string& id) {
    EXPECT_EQ(answer.status, 503) << answer.body.substr(0, 500);
    EXPECT_EQ(answer.json()["error"]["code"], "overloaded");
    EXPECT_NE(answer.body.find("http.reply_budget"), std::string::npos) << answer.body;
    EXPECT_NE(answer.body.find("GET " + result_of(id)), std::string::npos) << answer.body;
    EXPECT_TRUE(answer.has("retry-after"));
    EXPECT_TRUE(answer.has("retry-after-ms"));
  }
};

TEST_F(ReplyBudget, AResultThatFindsNoReplyBudgetGets503) {
  start({.reply_bytes_max = 500'000, .reply_budget_bytes = 200'000});
  const std::string large = job_with(300'000), fitting = job_with(100'000);
  expect_later(get(result_of(large)), large);
  for (int i = 0; i < 5; ++i) EXPECT_EQ(get(result_of(fitting)).status, 200) << "it is released";
  EXPECT_TRUE(holds(0));
}

TEST_F(ReplyBudget, PagesReserveTheirBudgetBeforeTheyAreLoaded) {
  start({.reply_bytes_max = 500'000, .reply_budget_bytes = 80'000});
  const std::string id = post("/v1/ocr", ocr_body(pdf_of(9)), "Prefer: respond-async\r\n").json()["id"];
  const auto job = claim();
  for (int i = 0; i < 3; ++i)
    part(job->lease, i,
         R"({"index":)" + std::to_string(i) + R"(,"markdown":")" + std::string(30'000, 'm') + R"("})");
  expect_later(get(result_of(id) + "?partial=true"), id);
  EXPECT_EQ(get(result_of(id) + "?pages=0-1").status, 200);
  EXPECT_TRUE(holds(0));
}

TEST_F(ReplyBudget, AReaderThatReadsNothingKeepsItsReservationUntilItLeaves) {
  constexpr std::size_t kBytes = 24u << 20;  // more than the kernel buffers
  start({.reply_bytes_max = kBytes, .reply_budget_bytes = kBytes + 1000});
  const std::string large = job_with(kBytes), other = job_with(100'000), small = job_with(2000);
  Connection slow(server->port());
  slow.send({.path = result_of(large), .key = owner});
  ASSERT_TRUE(slow.saw("HTTP/1.1 200"));
  EXPECT_TRUE(holds(kBytes));
  expect_later(get(result_of(other)), other);
  EXPECT_EQ(get(result_of(small)).status, 200) << "small replies need no reservation";
  slow.close();
  EXPECT_TRUE(holds(0));
  EXPECT_EQ(get(result_of(other)).status, 200);
}

TEST_F(ReplyBudget, ARequestThatIsReturnedReservesItsTreeAndThenItsTextAlone) {
  constexpr std::size_t kBytes = 24u << 20;
  constexpr std::size_t kMessage = 12u << 20;  // more than the kernel buffers
  start({.reply_bytes_max = kBytes, .reply_budget_bytes = kBytes + 1'000'000});
  const std::string large = job_with(kBytes), asked = chat_of(100'000), long_request = chat_of(kMessage);
  {
    Connection slow(server->port());
    slow.send({.path = result_of(large), .key = owner});
    EXPECT_TRUE(holds(kBytes));
    const Answer later = get(request_of(asked));
    EXPECT_EQ(later.status, 503) << "the budget is enough for the text but not for the tree";
    EXPECT_NE(later.body.find("http.reply_budget"), std::string::npos) << later.body;
  }
  EXPECT_TRUE(holds(0));
  EXPECT_EQ(get(request_of(asked)).status, 200);
  EXPECT_TRUE(holds(0));
  Connection slow(server->port());
  slow.send({.path = request_of(long_request), .key = owner});
  ASSERT_TRUE(slow.saw("HTTP/1.1 200"));
  EXPECT_TRUE(support::wait_until([&] { return held() > kMessage && held() < kMessage + 1000; })) << held();
}

}  // namespace
}  // namespace millrace::api::test
