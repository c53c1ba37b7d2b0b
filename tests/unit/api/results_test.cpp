#include <gtest/gtest.h>

#include "tests/unit/api/served.h"

namespace millrace::api::test {
namespace {

using nlohmann::json;

class Results : public Served {
 protected:
  std::string make() {
    return post("/v1/ocr", ocr_body(pdf_of(9)), "Prefer: respond-async\r\n").json()["id"];
  }
  // A page of about `bytes` bytes.
  static std::string page(int index, std::size_t bytes) {
    return R"({"index":)" + std::to_string(index) + R"(,"markdown":")" + std::string(bytes, 'm') +
           R"(","images":[],"dimensions":null})";
  }
  static std::vector<int> indexes(const Answer& answer) {
    std::vector<int> out;
    const json reply = answer.json();
    for (const json& each : reply["pages"]) out.push_back(each["index"]);
    return out;
  }
};

TEST_F(Results, AResultLargerThanAReplyMayBeIsReadByPages) {
  start({.reply_bytes_max = 2000});
  const std::string id = make();
  const auto job = claim();
  for (int i = 0; i < 4; ++i) part(job->lease, i, page(i, 600));
  for (const char* query : {"?partial=true", "?pages=0-3"}) {
    const Answer whole = get("/v1/jobs/" + id + "/result" + query);
    EXPECT_EQ(whole.status, 413);
    EXPECT_EQ(whole.header("x-should-retry"), "false");
    EXPECT_NE(whole.body.find("ocr.reply_max"), std::string::npos) << whole.body;
    EXPECT_NE(whole.body.find("/v1/jobs/" + id + "/result?pages="), std::string::npos) << whole.body;
  }
  EXPECT_EQ(indexes(get("/v1/jobs/" + id + "/result?pages=0-1")), (std::vector{0, 1}));
  finish(job->lease, R"({"pages":[)" + page(0, 3000) + "]}");
  EXPECT_EQ(get("/v1/jobs/" + id + "/result").status, 413);
  const Answer some = get("/v1/jobs/" + id + "/result?pages=3,1,9");
  EXPECT_EQ(some.status, 200);
  EXPECT_EQ(indexes(some), (std::vector{1, 3}));
  EXPECT_EQ(some.json()["usage_info"]["pages_processed"], 2);
}

TEST_F(Results, PagesThatAreNoneAreNamed) {
  start();
  const std::string id = make();
  const Answer answer = get("/v1/jobs/" + id + "/result?pages=x");
  EXPECT_EQ(answer.status, 422);
  EXPECT_EQ(answer.json()["detail"][0]["loc"], json::parse(R"(["query","pages"])"));
}

}  // namespace
}  // namespace millrace::api::test
