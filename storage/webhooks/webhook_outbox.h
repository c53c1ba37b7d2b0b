#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "platform/base/ids.h"
#include "schemas/access.h"
#include "schemas/jobs/job.h"
#include "schemas/webhooks/webhook.h"
#include "storage/db/db.h"
#include "storage/store.h"

// Inside storage: the events of webhooks are written in the transaction of what they report.
namespace millrace::storage {

struct JobRow;

// Deliveries that may wait for one endpoint. With more it is disabled, and a reason is shown.
inline constexpr std::int64_t kWebhookPendingMax = 100'000;

// The enabled endpoints as one transaction sees them, and what it adds to them. Used by one transaction.
// While the installation has no enabled endpoint, a transaction reads one row, at its first event.
class WebhookOutbox {
 public:
  struct Endpoint {
    base::Uuid id;
    schemas::EventFilter events;
    schemas::KindFilter kinds;
    bool on_request = false;
    schemas::ScopeSet scopes =
        schemas::ScopeSet::all();  // of the key that answers for it: it is sent no more
    std::int64_t pending = 0;      // with what this transaction has added
    std::int64_t added = 0;
  };

  // The enabled endpoints of a tenant. The reference is valid until the next call.
  std::vector<Endpoint>& endpoints(Db& db, std::string_view tenant);
  // Forgets what was read, after the endpoints were changed. Writes first.
  void reset(Db& db);
  // Counts what was added, and disables endpoints that are full. Call it before COMMIT.
  void write(Db& db);

 private:
  struct Tenant {
    std::string name;
    std::vector<Endpoint> endpoints;
  };
  std::optional<bool> has_any_{};
  std::vector<Tenant> tenants_;
  std::vector<Endpoint> none_;
};

// For Db::prefetch of transactions that probably record an event.
void prefetch_webhooks(Db& db);

struct WebhookEvent {
  std::string_view tenant;
  std::string_view type;     // one of schemas::webhook_events()
  std::string_view subject;  // id of the job, batch or machine; its events are sent in the order of the calls
  std::string_view data;     // a JSON object; of OpenAI's events: {"id": …}
  std::optional<schemas::Kind> kind{};    // of a job
  std::optional<base::Uuid> requested{};  // the endpoint that the request of a job has named
};

// True if the tenant has an enabled endpoint. Before work that only an event needs.
bool has_webhooks(Tx& tx, std::string_view tenant);
// Writes a delivery for each endpoint of the tenant whose filters the event passes and whose key may read it:
// events of machines need exec:read. They are sent after the commit.
void record_webhook_event(Tx& tx, const WebhookEvent& event);
// The same for a root job that has just ended. It needs jobs:read, and its contents the scope of its kind.
void record_job_end(Tx& tx, const Store::Options& options, const JobRow& row);
// Writes a delivery for one endpoint, whatever its filters. Returns its id.
base::Uuid insert_delivery(Tx& tx, WebhookOutbox::Endpoint& endpoint, const WebhookEvent& event);

// The scopes of a key as it is stored in api_keys.scopes.
schemas::ScopeSet scopes_from(std::string_view stored);
// Disables an enabled endpoint. `reason` is shown to its owner.
void disable_webhook(Db& db, const base::Uuid& endpoint, std::string_view reason);
// Call after any change of an endpoint's status.
void count_enabled_webhooks(Db& db);

}  // namespace millrace::storage
