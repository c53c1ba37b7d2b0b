#pragma once
#include <chrono>
#include <optional>
#include <string>
#include <vector>

#include "schemas/webhooks/webhook.h"
#include "storage/jobs/idempotent_call.h"
#include "storage/store.h"
#include "storage/writer/writer.h"

namespace millrace::storage {

// How many deliveries of an endpoint to claim at most.
struct DeliveryClaim {
  base::Uuid endpoint;
  int count = 1;
};

// A delivery that this process sends now. Its lease is the time of `claim`'s call; afterwards any process may
// send it again, with the same id and payload.
struct ClaimedDelivery {
  base::Uuid id;
  base::Uuid endpoint;
  std::int64_t claim = 0;  // fences: an outcome of an earlier claim has no effect
  int attempt = 1;         // counted from 1
  std::string url;
  std::string payload;
  std::string secret;           // sealed
  std::string previous_secret;  // the same, during a rotation; else empty
};

// How an attempt ended.
struct DeliveryOutcome {
  bool delivered = false;
  // Of a failed one: when to try again. Absent: never. Then the endpoint is disabled, unless it has taken
  // another delivery since this one was made.
  std::optional<std::chrono::milliseconds> retry_in{};
  // It is not tried again if it, or its endpoint since it was enabled, has failed for so long.
  std::chrono::milliseconds retry_for = std::chrono::milliseconds::max();
  bool is_gone = false;  // the receiver wants no more: disables the endpoint
  std::optional<int> http_status{};
  std::string error{};  // empty if delivered
};

// The events that endpoints are sent: the outbox and its log. Writes never block; reads block.
class WebhookDeliveries {
 public:
  explicit WebhookDeliveries(Store& store) : store_(store) {}

  // For the sender: endpoints with a delivery that may be sent now, in no order. Deliveries of one subject
  // are due one after the other.
  base::Result<std::vector<base::Uuid>> due(int limit);
  // Takes due deliveries, the oldest first. An endpoint whose API key has ended is disabled instead.
  void claim(std::vector<DeliveryClaim> claims, std::chrono::milliseconds lease,
             Callback<std::vector<ClaimedDelivery>> done);
  void settle(const ClaimedDelivery& delivery, DeliveryOutcome outcome, Callback<bool> done);

  // For the owners of endpoints. Newest first, before this id, without payloads. kNotFound: no such endpoint.
  base::Result<std::vector<schemas::WebhookDelivery>> list(const std::string& tenant,
                                                           const base::Uuid& endpoint, int limit,
                                                           std::optional<base::Uuid> before);
  // One of them, with its payload. kNotFound.
  base::Result<schemas::WebhookDelivery> delivery(const std::string& tenant, const base::Uuid& endpoint,
                                                  const base::Uuid& id);
  // Sends an event of type `webhook.test`. kInvalidState: the endpoint is disabled.
  void test(base::Uuid endpoint, IdempotentCall call, ReplyBuilder<schemas::WebhookDelivery> reply,
            Callback<CallReply> done);
  // Sends one again, with the same id: a pending one now, another one with all attempts. No effect while it
  // is being sent. kNotFound; kInvalidState: the endpoint is disabled.
  void redeliver(base::Uuid endpoint, base::Uuid delivery, IdempotentCall call,
                 ReplyBuilder<schemas::WebhookDelivery> reply, Callback<CallReply> done);

  // For maintenance. Each returns the number of rows that it has deleted, at most `limit`.
  // Deliveries of deleted endpoints, and then these.
  void drop_deleted(int limit, Callback<int> done);
  // Deliveries that are older than `age` and have ended, or wait for a disabled endpoint.
  void drop_old(std::chrono::milliseconds age, int limit, Callback<int> done);

 private:
  Store& store_;
};

base::Error no_such_delivery();  // kNotFound

}  // namespace millrace::storage
