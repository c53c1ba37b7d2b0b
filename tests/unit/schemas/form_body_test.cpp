#include "schemas/form_body.h"

#include <gtest/gtest.h>

namespace millrace::schemas::form_body_test {
namespace {

// The body, with its boundary replaced by B.
std::string shown(std::string body, const FormBody& form) {
  const std::string type = form.content_type();
  const std::string boundary = type.substr(type.find('=') + 1);
  for (std::size_t at = 0; (at = body.find(boundary, at)) != std::string::npos;)
    body.replace(at, boundary.size(), "B");
  return body;
}

TEST(FormBody, FieldsAndAFileFollowEachOtherUnderOneBoundary) {
  std::string body;
  FormBody form(body);
  form.field("model", "whisper-1");
  form.file("file", "talk.mp3");
  body += "sound";
  form.end();
  EXPECT_EQ(shown(body, form),
            "--B\r\nContent-Disposition: form-data; name=\"model\"\r\n\r\nwhisper-1\r\n"
            "--B\r\nContent-Disposition: form-data; name=\"file\"; filename=\"talk.mp3\"\r\n"
            "Content-Type: application/octet-stream\r\n\r\nsound\r\n--B--\r\n");
  EXPECT_TRUE(form.content_type().starts_with("multipart/form-data; boundary=millrace-"));
}

TEST(FormBody, ANameCannotEndItsQuotesOrItsLine) {
  std::string body;
  FormBody form(body);
  form.file("file", "a\"\r\nX-Evil: 1");
  EXPECT_NE(body.find("filename=\"a%22%0D%0AX-Evil: 1\"\r\n"), std::string::npos) << body;
}

TEST(FormBody, NoTwoHaveTheSameBoundary) {
  std::string one, two;
  EXPECT_NE(FormBody(one).content_type(), FormBody(two).content_type());
}

}  // namespace
}  // namespace millrace::schemas::form_body_test
