#include "schemas/files/multipart_upload.h"

#include <gtest/gtest.h>

#include "schemas/json/json.h"
#include "schemas/json/json_body.h"

namespace millrace::schemas::multipart_upload_test {
namespace {

const base::Uuid kId = *base::Uuid::parse("01932b6c-8a00-7000-8000-000000000001");
const std::string kPart = "part_01932b6c-8a00-7000-8000-000000000001";
const std::string kOtherPart = "part_01932b6c-8a00-7000-8000-000000000002";

std::string padded(std::string body) {
  body.reserve(body.size() + kJsonPadding);
  return body;
}
auto request(const std::string& body) {
  std::string text = padded(body);
  return parse_upload_request(text);
}
auto completion(const std::string& body) {
  std::string text = padded(body);
  return parse_upload_completion(text);
}
std::string request_error(const std::string& body) {
  const auto read = request(body);
  return read ? "none" : read.error().error.param;
}
std::string completion_error(const std::string& body) {
  const auto read = completion(body);
  return read ? "none" : read.error().error.param;
}

TEST(MultipartUpload, ARequestHasTheFieldsOfOpenAi) {
  const auto read = request(
      R"({"purpose":"batch","filename":"a/b.jsonl","bytes":12,"mime_type":"text/jsonl",
          "expires_after":{"anchor":"created_at","seconds":3600},"extra":1})");
  ASSERT_TRUE(read);
  EXPECT_EQ(read->purpose, "batch");
  EXPECT_EQ(read->name, "b.jsonl") << "without folders";
  EXPECT_EQ(read->bytes, 12);
  EXPECT_EQ(read->file_life, std::chrono::hours(1));
  EXPECT_EQ(read->unknown, std::vector<std::string>{"extra"});
}

TEST(MultipartUpload, AWrongRequestNamesItsField) {
  const auto with = [](const std::string& members) {
    return R"({"purpose":"batch","filename":"a","bytes":1,"mime_type":"text/plain")" + members + "}";
  };
  EXPECT_EQ(request_error(with("")), "none");
  EXPECT_EQ(request_error(R"({"filename":"a","bytes":1,"mime_type":"b"})"), "purpose");
  EXPECT_EQ(request_error(R"({"purpose":"two words","filename":"a","bytes":1,"mime_type":"b"})"), "purpose");
  EXPECT_EQ(request_error(R"({"purpose":"a","filename":"","bytes":1,"mime_type":"b"})"), "filename");
  EXPECT_EQ(request_error(R"({"purpose":"a","filename":"a","bytes":0,"mime_type":"b"})"), "bytes");
  EXPECT_EQ(request_error(R"({"purpose":"a","filename":"a","bytes":536870913,"mime_type":"b"})"), "bytes");
  EXPECT_EQ(request_error(R"({"purpose":"a","filename":"a","bytes":"1","mime_type":"b"})"), "bytes");
  EXPECT_EQ(request_error(R"({"purpose":"a","filename":"a","bytes":1})"), "mime_type");
  EXPECT_EQ(request_error(with(R"(,"expires_after":{"seconds":3600})")), "expires_after.anchor");
  EXPECT_EQ(request_error(with(R"(,"expires_after":{"anchor":"created_at","seconds":1})")),
            "expires_after.seconds");
}

TEST(MultipartUpload, ACompletionKeepsTheOrderOfItsParts) {
  const auto read = completion(R"({"part_ids":[")" + kOtherPart + R"(",")" + kPart +
                               R"("],"md5":"5D41402ABC4B2A76B9719D911017C592"})");
  ASSERT_TRUE(read);
  ASSERT_EQ(read->parts.size(), 2U);
  EXPECT_EQ(upload_part_id(read->parts.front()), kOtherPart);
  EXPECT_EQ(read->md5_hex, "5d41402abc4b2a76b9719d911017c592");
}

TEST(MultipartUpload, AWrongCompletionNamesItsField) {
  const auto with = [](const std::string& ids) { return R"({"part_ids":)" + ids + "}"; };
  EXPECT_EQ(completion_error("{}"), "part_ids");
  EXPECT_EQ(completion_error(with("[]")), "part_ids");
  EXPECT_EQ(completion_error(with("\"" + kPart + "\"")), "part_ids");
  EXPECT_EQ(completion_error(with(R"(["part_1"])")), "part_ids.0");
  EXPECT_EQ(completion_error(with("[1]")), "part_ids.0");
  EXPECT_EQ(completion_error(with("[\"" + kPart + "\",\"" + kPart + "\"]")), "part_ids.1");
  EXPECT_EQ(completion_error(R"({"part_ids":[")" + kPart + R"("],"md5":"abc"})"), "md5");
  std::string many = "[\"" + kPart + "\"";
  for (int i = 0; i < kUploadPartsMax; ++i) many += ",\"" + kPart + "\"";
  EXPECT_EQ(completion_error(with(many + "]")), "part_ids");
}

TEST(MultipartUpload, TheObjectsAreThoseOfOpenAi) {
  MultipartUpload upload{.id = kId,
                         .purpose = "batch",
                         .name = "a.jsonl",
                         .bytes = 5,
                         .created_at = base::wall_from(1'700'000'000'999),
                         .expires_at = base::wall_from(1'700'003'600'999)};
  Json shown = Json::parse(multipart_upload_json(upload));
  EXPECT_EQ(shown["id"], "upload_01932b6c-8a00-7000-8000-000000000001");
  EXPECT_EQ(shown["object"], "upload");
  EXPECT_EQ(shown["created_at"], 1'700'000'000);
  EXPECT_EQ(shown["expires_at"], 1'700'003'600);
  EXPECT_EQ(shown["status"], "pending");
  EXPECT_TRUE(shown["file"].is_null());
  upload.status = UploadStatus::kCompleted;
  StoredFile file;
  file.id = kId;
  file.name = "a.jsonl";
  shown = Json::parse(multipart_upload_json(upload, &file));
  EXPECT_EQ(shown["status"], "completed");
  EXPECT_EQ(shown["file"]["id"], stored_file_id(kId));
  const Json part =
      Json::parse(upload_part_json({.id = kId, .upload = kId, .created_at = base::wall_from(1'000)}));
  EXPECT_EQ(part["id"], kPart);
  EXPECT_EQ(part["object"], "upload.part");
  EXPECT_EQ(part["created_at"], 1);
  EXPECT_EQ(part["upload_id"], upload_id(kId));
}

}  // namespace
}  // namespace millrace::schemas::multipart_upload_test
