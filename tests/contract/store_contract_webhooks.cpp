#include <vector>

#include "storage/db/db.h"
#include "storage/webhooks/webhook_deliveries.h"
#include "storage/webhooks/webhook_endpoints.h"
#include "storage/webhooks/webhook_outbox.h"
#include "storage/writer/readers.h"
#include "tests/contract/store_contract.h"

// The outbox of webhooks, in every store.
namespace millrace::storage::testing {
namespace {

using schemas::DeliveryState;
using schemas::WebhookDelivery;
using schemas::WebhookEndpoint;
using schemas::WebhookStatus;

class Webhooks : public Delivery {
 protected:
  base::Result<WebhookEndpoint> try_add(const std::string& tenant = kTenant, int most = 20,
                                        schemas::EventFilter events = {}, schemas::KindFilter kinds = {}) {
    s_.clock.advance(1ms);
    WebhookEndpoint endpoint{.id = base::Uuid::make(s_.clock.wall()),
                             .tenant = tenant,
                             .key_id = {},
                             .url = "https://app.example/",
                             .events = std::move(events),
                             .kinds = std::move(kinds),
                             .public_key = {},
                             .created_at = s_.clock.wall()};
    return await<WebhookEndpoint>([&](auto done) {
      endpoints_.create(std::move(endpoint), {"sealed", "public"}, most, done);
    });
  }
  base::Uuid add(schemas::EventFilter events = {}, schemas::KindFilter kinds = {}) {
    return try_add(kTenant, 20, std::move(events), std::move(kinds)).value().id;
  }
  static IdempotentCall call(const std::string& tenant = kTenant) {
    return {.tenant = tenant, .actor = {}, .key = {}};
  }
  base::Result<CallReply> set_status(const base::Uuid& id, WebhookStatus status) {
    schemas::WebhookChange change;
    change.status = status;
    return await<CallReply>([&](auto done) {
      endpoints_.change(
          id, change, call(), [](const WebhookEndpoint& e) { return schemas::webhook_json(e); }, done);
    });
  }
  base::Result<CallReply> remove(const base::Uuid& id, const std::string& tenant = kTenant) {
    return await<CallReply>([&](auto done) {
      endpoints_.remove(
          id, call(tenant), [](const WebhookEndpoint& e) { return e.url; }, done);
    });
  }
  base::Result<CallReply> redeliver(const base::Uuid& endpoint, const base::Uuid& delivery) {
    return await<CallReply>([&](auto done) {
      deliveries_.redeliver(endpoint, delivery, call(), &schemas::webhook_delivery_json, done);
    });
  }
  // An event about `subject`, as batches and machines record them.
  void record(const std::string& subject, std::string_view type = "batch.completed") {
    const auto done = write_and_wait(
        s_.store().writer(), {[&](Tx& tx) -> base::Status {
          record_webhook_event(
              tx, {.tenant = kTenant, .type = type, .subject = subject, .data = R"({"id":"batch_1"})"});
          return {};
        }});
    ASSERT_TRUE(done);
  }
  std::vector<ClaimedDelivery> claim(const base::Uuid& endpoint, int count = 9) {
    return await<std::vector<ClaimedDelivery>>([&](auto done) {
             deliveries_.claim({{endpoint, count}}, kSendLease, done);
           })
        .value();
  }
  bool settle(const ClaimedDelivery& delivery, DeliveryOutcome outcome) {
    return await<bool>([&](auto done) { deliveries_.settle(delivery, std::move(outcome), done); }).value();
  }
  static DeliveryOutcome retry(std::chrono::milliseconds pause) {
    return {.delivered = false, .retry_in = pause, .http_status = 500, .error = "it answered 500"};
  }
  std::vector<WebhookDelivery> log(const base::Uuid& endpoint) {
    return deliveries_.list(kTenant, endpoint, 99, {}).value();
  }
  WebhookEndpoint shown(const base::Uuid& id) { return endpoints_.endpoint(kTenant, id).value(); }
  std::size_t due() { return deliveries_.due(99).value().size(); }
  std::int64_t number(Sql sql) {
    return read(s_.store().readers(),
                [&](Db& db) {
                  auto row = db.prepare(sql);
                  return row.step() ? row.integer(0) : -1;
                })
        .value();
  }
  int drop_deleted() {
    return await<int>([&](auto done) { deliveries_.drop_deleted(9, done); }).value();
  }
  int drop_old() {
    return await<int>([&](auto done) { deliveries_.drop_old(168h, 9, done); }).value();
  }

  static constexpr std::chrono::milliseconds kSendLease{25'000};
  JobStore& s_ = fresh();
  WebhookEndpoints endpoints_{s_.store()};
  WebhookDeliveries deliveries_{s_.store()};
};
INSTANTIATE_TEST_SUITE_P(Stores, Webhooks, ::testing::ValuesIn(kStores),
                         [](const auto& kind) { return std::string(kind.param.name); });

TEST_P(Webhooks, TheEndOfAJobIsRecordedWithIt) {
  const base::Uuid endpoint = add();
  const Lease lease = s_.submit_and_claim();
  EXPECT_EQ(due(), 0U);
  ASSERT_EQ(s_.finish(lease), ReportResult::kApplied);
  EXPECT_EQ(due(), 1U);
  const auto claimed = claim(endpoint);
  ASSERT_EQ(claimed.size(), 1U);
  EXPECT_NE(claimed[0].payload.find(R"("type":"job.succeeded")"), std::string::npos) << claimed[0].payload;
  EXPECT_NE(claimed[0].payload.find(R"("id":")" + lease.job.str()), std::string::npos);
  EXPECT_EQ(claimed[0].secret, "sealed");
  EXPECT_EQ(shown(endpoint).pending, 1);
  EXPECT_TRUE(settle(claimed[0], {.delivered = true, .http_status = 200}));
  EXPECT_EQ(shown(endpoint).pending, 0);
  EXPECT_EQ(log(endpoint)[0].state, DeliveryState::kDelivered);
}

TEST_P(Webhooks, EachEndOfAJobHasItsEventAndChildrenHaveNone) {
  const base::Uuid endpoint = add();
  EXPECT_EQ(s_.fail(s_.submit_and_claim()), ReportResult::kApplied);
  s_.cancel(s_.submit()).value();
  EXPECT_EQ(s_.expired(s_.submit_and_claim()), ReportResult::kApplied);
  const Lease split = s_.submit_and_claim();
  EXPECT_EQ(s_.split(split, 2), ReportResult::kApplied);
  for (const ClaimedJob& child : s_.claim(2)) EXPECT_EQ(s_.finish(child.lease), ReportResult::kApplied);
  std::vector<std::string> types;
  for (const WebhookDelivery& each : log(endpoint)) types.insert(types.begin(), each.type);
  EXPECT_EQ(types, (std::vector<std::string>{"job.failed", "job.cancelled", "job.expired"}));
}

TEST_P(Webhooks, NothingIsRecordedWithoutAnEnabledEndpointOfTheTenant) {
  EXPECT_EQ(s_.finish(s_.submit_and_claim()), ReportResult::kApplied);
  ASSERT_TRUE(try_add("other"));
  EXPECT_EQ(s_.finish(s_.submit_and_claim()), ReportResult::kApplied);
  const base::Uuid endpoint = add();
  ASSERT_TRUE(set_status(endpoint, WebhookStatus::kDisabled));
  EXPECT_EQ(s_.finish(s_.submit_and_claim()), ReportResult::kApplied);
  EXPECT_EQ(number("SELECT count(*) FROM webhook_deliveries"), 0);
}

TEST_P(Webhooks, FiltersSelectEventsAndKinds) {
  const base::Uuid failures = add({"job.failed"}), chats = add({}, {"chat"}),
                   batches = add({"batch.*"}, {"chat"});
  EXPECT_EQ(s_.finish(s_.submit_and_claim()), ReportResult::kApplied);
  EXPECT_EQ(s_.fail(s_.submit_and_claim()), ReportResult::kApplied);
  record("batch_1");
  EXPECT_EQ(log(failures).size(), 1U);
  ASSERT_EQ(log(chats).size(), 1U);
  EXPECT_EQ(log(chats)[0].type, "batch.completed") << "a filter of kinds is about jobs";
  EXPECT_EQ(log(batches).size(), 1U);
}

TEST_P(Webhooks, TheEventsOfASubjectAreDueOneAfterTheOther) {
  const base::Uuid endpoint = add();
  record("a", "batch.failed");
  record("b");
  record("a");
  auto first = claim(endpoint);
  ASSERT_EQ(first.size(), 2U) << "one of each subject";
  EXPECT_EQ(due(), 0U) << "the second of a waits for the first";
  EXPECT_TRUE(settle(first[0], retry(1h)));
  EXPECT_TRUE(settle(first[1], {.delivered = true, .http_status = 204}));
  EXPECT_TRUE(claim(endpoint).empty());
  s_.clock.advance(1h);
  first = claim(endpoint);
  ASSERT_EQ(first.size(), 1U);
  EXPECT_EQ(first[0].attempt, 2);
  EXPECT_TRUE(settle(first[0], {.delivered = true, .http_status = 200}));
  EXPECT_EQ(claim(endpoint).size(), 1U);
}

TEST_P(Webhooks, ALeaseThatEndsIsClaimedAgainAndTheFirstClaimIsFenced) {
  const base::Uuid endpoint = add();
  record("a");
  const auto first = claim(endpoint);
  ASSERT_EQ(first.size(), 1U);
  EXPECT_TRUE(claim(endpoint).empty());
  s_.clock.advance(kSendLease);
  const auto second = claim(endpoint);
  ASSERT_EQ(second.size(), 1U);
  EXPECT_EQ(second[0].id, first[0].id);
  EXPECT_EQ(second[0].payload, first[0].payload);
  EXPECT_FALSE(settle(first[0], {.delivered = false, .error = "late"}));
  EXPECT_TRUE(settle(second[0], {.delivered = true, .http_status = 200}));
  EXPECT_FALSE(settle(second[0], {.delivered = true, .http_status = 200}));
  EXPECT_EQ(shown(endpoint).pending, 0);
}

TEST_P(Webhooks, TheLastFailureDisablesTheEndpointAndKeepsWhatWaits) {
  const base::Uuid endpoint = add();
  record("a");
  record("b");
  const auto claimed = claim(endpoint, 1);
  EXPECT_TRUE(settle(claimed[0], {.delivered = false, .http_status = 500, .error = "it answered 500"}));
  EXPECT_EQ(shown(endpoint).status, WebhookStatus::kDisabled);
  EXPECT_NE(shown(endpoint).reason.find("it answered 500"), std::string::npos);
  EXPECT_EQ(shown(endpoint).pending, 1);
  EXPECT_EQ(due(), 0U);
  EXPECT_EQ(redeliver(endpoint, claimed[0].id).error().code, Code::kInvalidState);
  ASSERT_TRUE(set_status(endpoint, WebhookStatus::kEnabled));
  EXPECT_TRUE(shown(endpoint).reason.empty());
  EXPECT_EQ(claim(endpoint).size(), 1U);
}

TEST_P(Webhooks, AnEndpointThatTakesOtherDeliveriesStaysEnabled) {
  const base::Uuid endpoint = add();
  record("bad");
  record("good");
  const auto claimed = claim(endpoint);
  ASSERT_EQ(claimed.size(), 2U);
  EXPECT_TRUE(settle(claimed[1], {.delivered = true, .http_status = 200}));
  EXPECT_TRUE(settle(claimed[0], {.delivered = false, .http_status = 500, .error = "it answered 500"}));
  EXPECT_EQ(shown(endpoint).status, WebhookStatus::kEnabled);
  EXPECT_EQ(log(endpoint)[1].state, DeliveryState::kFailed);
}

TEST_P(Webhooks, ADeliveryThatHasFailedForTooLongIsNotTriedAgain) {
  const base::Uuid endpoint = add();
  record("a");
  record("b");
  DeliveryOutcome failed = retry(5s);
  failed.retry_for = 24h;
  s_.clock.advance(23h);
  EXPECT_TRUE(settle(claim(endpoint, 1)[0], failed));
  EXPECT_EQ(shown(endpoint).status, WebhookStatus::kEnabled);
  s_.clock.advance(1h);
  EXPECT_TRUE(settle(claim(endpoint, 1)[0], failed));
  EXPECT_EQ(shown(endpoint).status, WebhookStatus::kDisabled);
  ASSERT_TRUE(set_status(endpoint, WebhookStatus::kEnabled));
  EXPECT_TRUE(settle(claim(endpoint, 1)[0], failed));
  EXPECT_EQ(shown(endpoint).status, WebhookStatus::kEnabled) << "the time counts from its enabling";
}

TEST_P(Webhooks, AReceiverThatIsGoneDisablesItsEndpoint) {
  const base::Uuid endpoint = add();
  record("a");
  DeliveryOutcome gone = retry(5s);
  gone.is_gone = true;
  EXPECT_TRUE(settle(claim(endpoint)[0], gone));
  EXPECT_EQ(shown(endpoint).status, WebhookStatus::kDisabled);
  EXPECT_EQ(log(endpoint)[0].state, DeliveryState::kFailed);
}

TEST_P(Webhooks, ADeliveryIsSentAgainWithItsId) {
  const base::Uuid endpoint = add();
  record("a");
  const auto first = claim(endpoint);
  EXPECT_TRUE(redeliver(endpoint, first[0].id));
  EXPECT_TRUE(claim(endpoint).empty()) << "it is being sent";
  EXPECT_TRUE(settle(first[0], {.delivered = true, .http_status = 200}));
  EXPECT_TRUE(redeliver(endpoint, first[0].id));
  EXPECT_EQ(shown(endpoint).pending, 1);
  const auto again = claim(endpoint);
  ASSERT_EQ(again.size(), 1U);
  EXPECT_EQ(again[0].id, first[0].id);
  EXPECT_EQ(again[0].attempt, 1);
  EXPECT_TRUE(settle(again[0], retry(8h)));
  EXPECT_TRUE(redeliver(endpoint, first[0].id));
  EXPECT_EQ(claim(endpoint).size(), 1U) << "a pending one is sent now";
  EXPECT_EQ(shown(endpoint).pending, 1);
  EXPECT_EQ(redeliver(endpoint, endpoint).error().code, Code::kNotFound);
}

TEST_P(Webhooks, BothSecretsAreClaimedUntilTheRotationEnds) {
  const base::Uuid endpoint = add();
  const auto rotated = await<WebhookEndpoint>([&](auto done) {
    endpoints_.rotate(endpoint, {.tenant = kTenant}, {"second", "key 2"}, 24h, done);
  });
  ASSERT_TRUE(rotated);
  EXPECT_EQ(rotated->previous_public_key, "public");
  EXPECT_EQ(rotated->public_key, "key 2");
  record("a");
  record("b");
  const auto during = claim(endpoint, 1);
  EXPECT_EQ(during[0].secret, "second");
  EXPECT_EQ(during[0].previous_secret, "sealed");
  s_.clock.advance(25h);
  EXPECT_FALSE(shown(endpoint).previous_until);
  const auto after = claim(endpoint, 1);
  EXPECT_EQ(after[0].previous_secret, "");
}

TEST_P(Webhooks, ADeletedOneIsGoneAndItsRowsFollow) {
  const base::Uuid endpoint = add();
  for (int i = 0; i < 12; ++i) record("batch_" + std::to_string(i));
  EXPECT_EQ(remove(endpoint, "other").error().code, Code::kNotFound);
  EXPECT_TRUE(remove(endpoint));
  EXPECT_EQ(endpoints_.endpoint(kTenant, endpoint).error().code, Code::kNotFound);
  EXPECT_EQ(deliveries_.list(kTenant, endpoint, 9, {}).error().code, Code::kNotFound);
  EXPECT_EQ(remove(endpoint).error().code, Code::kNotFound);
  EXPECT_EQ(due(), 0U);
  EXPECT_EQ(claim(endpoint).size(), 0U);
  EXPECT_EQ(number("SELECT enabled FROM webhook_state"), 0);
  while (drop_deleted() > 0) {
  }
  EXPECT_EQ(number("SELECT count(*) FROM webhook_deliveries"), 0);
  EXPECT_EQ(number("SELECT count(*) FROM webhook_endpoints"), 0);
}

TEST_P(Webhooks, OldDeliveriesAreDroppedUnlessTheyMayStillBeSent) {
  const base::Uuid live = add(), dead = add();
  record("a");
  EXPECT_TRUE(settle(claim(live)[0], {.delivered = true, .http_status = 200}));
  record("b");
  ASSERT_TRUE(set_status(dead, WebhookStatus::kDisabled));
  EXPECT_EQ(drop_old(), 0);
  s_.clock.advance(169h);
  EXPECT_EQ(drop_old(), 3) << "the delivered one, and two that wait for the disabled endpoint";
  EXPECT_EQ(log(live).size(), 1U);
  EXPECT_EQ(shown(dead).pending, 0);
  EXPECT_EQ(shown(live).pending, 1);
}

TEST_P(Webhooks, ARequestMakesTheEndpointOfItsUrlOnce) {
  const auto submit = [&](const std::string& url, int most = 2, const std::string& tenant = kTenant) {
    s_.clock.advance(1ms);
    Submission order = s_.order(tenant);
    order.webhook = RequestWebhook{
        .id = base::Uuid::make(s_.clock.wall()), .url = url, .secret = {"sealed", "public"}, .most = most};
    return s_.try_submit(order);
  };
  ASSERT_TRUE(submit("https://a.example/"));
  ASSERT_TRUE(submit("https://a.example/"));
  const auto made = endpoints_.list(kTenant, 9, {}).value();
  ASSERT_EQ(made.size(), 1U);
  EXPECT_TRUE(made[0].on_request);
  EXPECT_EQ(submit("https://b.example/", 1).error().code, Code::kQuotaFull);
  EXPECT_TRUE(submit("https://a.example/", 1, "other"));
  for (const ClaimedJob& job : s_.claim(3)) EXPECT_EQ(s_.finish(job.lease), ReportResult::kApplied);
  EXPECT_EQ(s_.finish(s_.submit_and_claim()), ReportResult::kApplied);
  record("batch_1");
  EXPECT_EQ(log(made[0].id).size(), 2U) << "only the ends of its jobs";
  EXPECT_EQ(number("SELECT count(*) FROM webhook_requests"), 0);
  ASSERT_TRUE(set_status(made[0].id, WebhookStatus::kDisabled));
  EXPECT_EQ(submit("https://a.example/").error().code, Code::kInvalidState);
  EXPECT_EQ(number("SELECT count(*) FROM jobs WHERE status < 3"), 0);
}

TEST_P(Webhooks, TheirNumberIsBounded) {
  EXPECT_TRUE(try_add(kTenant, 1));
  const auto refused = try_add(kTenant, 1);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, Code::kQuotaFull);
  EXPECT_NE(refused.error().message.find("webhooks.per_tenant"), std::string::npos);
  EXPECT_TRUE(try_add("other", 1));
}

}  // namespace
}  // namespace millrace::storage::testing
