#include "schemas/envelope.h"

#include <gtest/gtest.h>

namespace millrace::schemas::envelope_test {
namespace {

constexpr std::string_view kJob = "ocr-0192f0a1-7c1e-7000-8000-000000000001";

TokenEnvelope token() { return {*JobId::parse(kJob), 3, "acme"}; }
JobChange hint() { return {*JobId::parse(kJob), "acme", 4, JobStatus::kWaiting}; }

template <class T>
EnvelopeFault fault_of(const Decoded<T>& decoded) {
  EXPECT_FALSE(decoded.has_value());
  return decoded.error();
}

TEST(Envelope, ATokenReadsBackAsItWasWritten) {
  const auto text = encode(token());
  ASSERT_TRUE(text);
  const auto read = decode_token(*text);
  ASSERT_TRUE(read);
  EXPECT_EQ(*read, token());
}

TEST(Envelope, AHintReadsBackAsItWasWrittenInEveryStatus) {
  for (int status = 0; status <= static_cast<int>(JobStatus::kExpired); ++status) {
    JobChange sent = hint();
    sent.status = static_cast<JobStatus>(status);
    const auto text = encode(sent);
    ASSERT_TRUE(text);
    const auto read = decode_hint(*text);
    ASSERT_TRUE(read) << *text;
    EXPECT_EQ(*read, sent);
  }
}

TEST(Envelope, AHintOfAJobThatWaitsForItsMachineSaysSo) {
  JobChange sent = hint();
  sent.status = JobStatus::kQueued;
  EXPECT_FALSE(schemas::Json::parse(*encode(sent)).contains("waking"));
  sent.waking = true;
  const auto text = encode(sent);
  EXPECT_EQ(schemas::Json::parse(*text)["waking"], true);
  EXPECT_EQ(*decode_hint(*text), sent);
}

TEST(Envelope, AHintOfAScheduledJobSaysSo) {
  JobChange sent = hint();
  sent.status = JobStatus::kQueued;
  sent.scheduled = true;
  const auto text = encode(sent);
  EXPECT_EQ(schemas::Json::parse(*text)["scheduled"], true);
  EXPECT_EQ(*decode_hint(*text), sent);
}

TEST(Envelope, TheWireFormIsThatOfTheHeader) {
  EXPECT_EQ(schemas::Json::parse(*encode(token())),
            schemas::Json({{"v", 1}, {"job", kJob}, {"kind", "ocr"}, {"epoch", 3}, {"tenant", "acme"}}));
  EXPECT_EQ(
      schemas::Json::parse(*encode(hint())),
      schemas::Json({{"v", 1}, {"job", kJob}, {"tenant", "acme"}, {"version", 4}, {"status", "waiting"}}));
}

TEST(Envelope, UnknownFieldsAreIgnored) {
  auto json = schemas::Json::parse(*encode(token()));
  json["added_later"] = {{"deep", {1, 2}}};
  const auto read = decode_token(json.dump());
  ASSERT_TRUE(read);
  EXPECT_EQ(*read, token());
}

TEST(Envelope, AnUnknownVersionIsDistinguishedFromDamage) {
  EXPECT_EQ(fault_of(decode_token(R"({"v":2,"body":"of another shape"})")), EnvelopeFault::kUnknownVersion);
  EXPECT_EQ(fault_of(decode_hint(R"({"v":0})")), EnvelopeFault::kUnknownVersion);
}

TEST(Envelope, DamagedTextIsMalformed) {
  for (const char* text :
       {"", "null", "7", "[]", "{", "{}", "not JSON", "\xff\xfe", R"({"v":"1"})", R"({"v":-1})"}) {
    EXPECT_EQ(fault_of(decode_token(text)), EnvelopeFault::kMalformed) << text;
    EXPECT_EQ(fault_of(decode_hint(text)), EnvelopeFault::kMalformed) << text;
  }
}

TEST(Envelope, AMissingOrWrongFieldIsMalformed) {
  for (const char* field : {"job", "epoch", "tenant"}) {
    auto json = schemas::Json::parse(*encode(token()));
    json.erase(field);
    EXPECT_EQ(fault_of(decode_token(json.dump())), EnvelopeFault::kMalformed) << field;
    for (const schemas::Json& wrong : {schemas::Json(nullptr), schemas::Json(1.5), schemas::Json::array()}) {
      json[field] = wrong;
      EXPECT_EQ(fault_of(decode_token(json.dump())), EnvelopeFault::kMalformed) << field;
    }
  }
  for (const char* field : {"job", "version", "tenant", "status"}) {
    auto json = schemas::Json::parse(*encode(hint()));
    json.erase(field);
    EXPECT_EQ(fault_of(decode_hint(json.dump())), EnvelopeFault::kMalformed) << field;
  }
}

TEST(Envelope, NumbersOutOfRangeAreMalformed) {
  auto json = schemas::Json::parse(*encode(token()));
  for (const schemas::Json& wrong : {schemas::Json(-1), schemas::Json(UINT64_MAX), schemas::Json(1e300)}) {
    json["epoch"] = wrong;
    EXPECT_EQ(fault_of(decode_token(json.dump())), EnvelopeFault::kMalformed) << wrong;
  }
}

TEST(Envelope, AJobOrStatusThatDoesNotExistIsMalformed) {
  auto json = schemas::Json::parse(*encode(hint()));
  json["status"] = "sleeping";
  EXPECT_EQ(fault_of(decode_hint(json.dump())), EnvelopeFault::kMalformed);
  json = schemas::Json::parse(*encode(hint()));
  json["job"] = "fax-0192f0a1-7c1e-7000-8000-000000000001";
  EXPECT_EQ(fault_of(decode_hint(json.dump())), EnvelopeFault::kMalformed);
}

TEST(Envelope, SizeIsBoundedBothWays) {
  TokenEnvelope large = token();
  large.tenant.assign(kEnvelopeBytesMax, 't');
  const auto refused = encode(large);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, base::Code::kTooLarge);
  EXPECT_EQ(fault_of(decode_hint(std::string(kEnvelopeBytesMax + 1, ' '))), EnvelopeFault::kTooLarge);
}

TEST(Envelope, ATenantThatIsNotUtf8StillTravels) {
  TokenEnvelope odd = token();
  odd.tenant = "a\xff";
  const auto text = encode(odd);
  ASSERT_TRUE(text);
  EXPECT_TRUE(decode_token(*text));
}

}  // namespace
}  // namespace millrace::schemas::envelope_test
