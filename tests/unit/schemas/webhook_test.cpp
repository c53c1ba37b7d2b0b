#include "schemas/webhooks/webhook.h"

#include <gtest/gtest.h>

#include "platform/base/clock.h"

namespace millrace::schemas::webhook_test {
namespace {

TEST(Webhook, AnEmptyFilterPassesAllAndAGroupItsEvents) {
  EXPECT_TRUE(passes({}, {}, "job.failed", Kind::kOcr));
  EXPECT_TRUE(passes({"*"}, {}, "batch.completed", {}));
  EXPECT_TRUE(passes({"batch.*", "job.failed"}, {}, "job.failed", Kind::kOcr));
  EXPECT_FALSE(passes({"batch.*", "job.failed"}, {}, "job.succeeded", Kind::kOcr));
  EXPECT_FALSE(passes({"job.*"}, {}, "machine.running", {}));
}

TEST(Webhook, AKindSelectsJobsOnly) {
  EXPECT_TRUE(passes({}, {"ocr"}, "job.failed", Kind::kOcr));
  EXPECT_FALSE(passes({}, {"ocr"}, "job.failed", Kind::kChat));
  EXPECT_TRUE(passes({}, {"ocr"}, "machine.running", {}));
}

TEST(Webhook, ATestPassesEveryFilter) { EXPECT_TRUE(passes({"batch.*"}, {"ocr"}, kTestEvent, {})); }

TEST(Webhook, AStoredFilterComesBack) {
  for (const EventFilter& filter :
       {EventFilter{}, EventFilter{"job.*"}, EventFilter{"job.failed", "batch.*"}})
    EXPECT_EQ(filter_from(filter_text(filter)), filter);
}

TEST(Webhook, ThePayloadHasTheMembersOfBothShapes) {
  EXPECT_EQ(webhook_payload_json({.event = {},
                                  .type = "batch.completed",
                                  .at = base::wall_from(1'738'310'400'250),
                                  .data = R"({"id":"batch_1"})"}),
            R"({"id":"evt_00000000-0000-0000-0000-000000000000","object":"event","created_at":1738310400,)"
            R"("type":"batch.completed","timestamp":"2025-01-31T08:00:00.250Z","data":{"id":"batch_1"}})");
}

TEST(Webhook, ARequestNamesKnownEventsAndShownKinds) {
  std::string body = R"({"url":"https://a.example/","events":["job.*","job.*"],"kinds":["ocr"]})";
  const auto good = parse_new_webhook(body);
  ASSERT_TRUE(good);
  EXPECT_EQ(good->events, EventFilter{"job.*"});
  for (std::string wrong :
       {R"({})", R"({"url":"x","events":["job.begun"]})", R"({"url":"x","kinds":["machine"]})",
        R"({"url":"x","status":"enabled"})", R"({"url":"x","events":"job.*"})"}) {
    EXPECT_FALSE(parse_new_webhook(wrong)) << wrong;
  }
  std::string change = R"({"status":"disabled"})";
  EXPECT_EQ(parse_webhook_change(change)->status, WebhookStatus::kDisabled);
}

}  // namespace
}  // namespace millrace::schemas::webhook_test
