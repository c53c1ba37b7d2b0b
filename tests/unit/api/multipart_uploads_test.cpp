#include <string>

#include <gtest/gtest.h>
#include <unistd.h>

#include "tests/unit/api/served.h"

namespace millrace::api::test {
namespace {

// Uploads in parts (the whole way: tests/integration/test_uploads.py).
class MultipartUploads : public Served {
 protected:
  std::string begin(int bytes) {
    const std::string body = R"({"purpose":"batch","filename":"a","mime_type":"text/plain","bytes":)" +
                             std::to_string(bytes) + "}";
    return "/v1/uploads/" + post("/v1/uploads", body, writer()).json().value("id", "");
  }
  std::string part(const std::string& upload, const std::string& content) {
    const std::string body = "--b\r\nContent-Disposition: form-data; name=\"data\"; filename=\"a\"\r\n\r\n" +
                             content + "\r\n--b--\r\n";
    const Answer added = send({.method = "POST",
                               .path = upload + "/parts",
                               .key = writer_,
                               .body = body,
                               .type = "multipart/form-data; boundary=b"});
    return added.json().value("id", "");
  }
  Answer complete(const std::string& upload, const std::string& part) {
    return post(upload + "/complete", R"({"part_ids":[")" + part + R"("]})", writer());
  }

 private:
  Answer post(const std::string& path, const std::string& body, const std::string& key) {
    return send({.method = "POST", .path = path, .key = key, .body = body});
  }
  const std::string& writer() {
    if (writer_.empty()) writer_ = key({schemas::Scope::kFilesWrite});
    return writer_;
  }
  std::string writer_;
};

TEST_F(MultipartUploads, ATenantCompletesSoManyAtOnceAndTheNextOneIsToldToRetry) {
  start({.joins_per_tenant = 0});
  const std::string upload = begin(5), hello = part(upload, "hello");
  const Answer refused = complete(upload, hello);
  EXPECT_EQ(code(refused), "503 overloaded");
  EXPECT_TRUE(refused.has("retry-after"));
  EXPECT_NE(refused.body.find("being completed"), std::string::npos) << refused.body;
}

TEST_F(MultipartUploads, ACompletionGivesItsPlaceBack) {
  start({.joins_per_tenant = 1});
  for (int i = 0; i < 3; ++i) {
    const std::string upload = begin(5), hello = part(upload, "hello");
    EXPECT_EQ(complete(upload, hello).status, 200);
  }
}

TEST_F(MultipartUploads, APartThatIsDamagedOnTheDiskIsNotCompleted) {
  start();
  const std::string upload = begin(5), hello = part(upload, "hello");
  ASSERT_EQ(files().size(), 1U);
  ASSERT_EQ(::truncate(files().front().c_str(), 3), 0);
  const Answer refused = complete(upload, hello);
  EXPECT_EQ(code(refused), "500 stored_file_damaged");
  EXPECT_EQ(files().size(), 1U) << "the new file is removed";
}

}  // namespace
}  // namespace millrace::api::test
