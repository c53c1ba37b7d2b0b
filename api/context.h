#pragma once
#include <atomic>
#include <chrono>
#include <cstddef>
#include <functional>
#include <string>

#include "ai/inference/chat/chat.h"
#include "ai/inference/routing/model_lists.h"
#include "api/admission/byte_budget.h"
#include "api/admission/job_places.h"
#include "api/jobs/job_wait.h"
#include "api/media/picture_handlers.h"
#include "jobs/control.h"
#include "jobs/feed.h"
#include "jobs/submit.h"
#include "jobs/waiters.h"
#include "machines/keys/ssh_authority.h"
#include "platform/base/clock.h"
#include "platform/base/metrics.h"
#include "platform/base/pool.h"
#include "platform/net/loop.h"
#include "storage/jobs/job_queries.h"
#include "storage/store.h"

namespace millrace::api {

class LiveOverview;
class Revocations;
class ChatAnswers;

// What /readyz says of dispatch; from bus::HealthReport, which this room does not see.
struct DispatchHealth {
  bool ok = true;
  std::string detail;
};

struct Options {
  std::string public_url = {};  // what links are made of, without a slash at its end; empty: relative links
  bool metrics_open = false;    // /metrics without a key: only while the listener is bound to loopback
  std::size_t body_budget_bytes = 512u << 20;  // request bodies in memory at once, over all connections; 503
  // Beside it, those whose key is not known yet: room for one of the largest. Without room: 503 for a good
  // key.
  std::size_t unauthenticated_budget_bytes = 80u << 20;
  std::string executions_off = {};           // not empty: this process runs no commands; new ones get 503
  std::size_t reply_bytes_max = 256u << 20;  // of a job's result in one reply; 413
  // Results in memory on their way to clients, over all connections; 503. At least `reply_bytes_max`.
  std::size_t reply_budget_bytes = 512u << 20;
  std::size_t original_request_bytes_max = 16u << 20;  // of what a job was asked, as it is told back; 413
  int pictures_per_tenant = 8;                         // of pages, asked for at once; 429
  int requests_per_minute = 0;                         // per API key; 429. 0: no limit
  int concurrent_jobs = 0;                             // unfinished ones, per API key; 429. 0: no limit
  int list_rows_max = storage::kListRowsMax;     // rows that a list looks at before others have their turn
  std::chrono::milliseconds sync_wait{120'000};  // of a synchronous OCR request; 504
  std::chrono::milliseconds stt_wait{120'000};   // of a synchronous request with a recording; 504
  std::chrono::milliseconds prefer_wait_max{60'000};
  std::chrono::milliseconds event_ping{15'000};
  std::chrono::milliseconds feed_interval{250};         // of /v1/admin/events: between its looks for changes
  std::chrono::milliseconds feed_overview{2'000};       // the same: between overviews
  std::chrono::milliseconds ssh_lifetime{15 * 60'000};  // of the certificate of an SSH session
  std::chrono::milliseconds chat_heartbeat{15'000};     // between comments in a model's stream
  std::chrono::milliseconds chat_grace{4'000};          // of chat answers under way, at drain
};

// What handlers reach. Everything in it outlives every request.
struct Context {
  storage::Store& store;
  jobs::Submit& submit;
  jobs::Control& control;
  base::Pool& pool;
  net::Loop& loop;
  base::Metrics& metrics;
  const base::Clock& clock;
  const std::function<DispatchHealth()>& dispatch_health;
  const Options& options;
  JobWaits& waits;
  JobPlaces& places;
  ByteBudget& replies;
  const std::atomic<bool>& draining;
  const std::string& openapi;
  const std::string& secret_key;  // 32 bytes: what requests hold in confidence is sealed under it
  const std::shared_ptr<const machines::SshAuthority>& ssh_authority;  // null: no SSH sessions; 503
  Revocations& revocations;
  inference::Chat& chat;
  inference::ModelLists& model_lists;
  ChatAnswers& chat_answers;
  const std::string& pepper;  // of API keys (api/admission/keys.h)
  LiveOverview& live_overview;
  jobs::Feed* feed;  // may be null
  const PagePictures& pictures;
  KeyedSemaphore& picture_places;  // by tenant
};

// Runs `task` on the pool; false (and `call` is answered 503) when the lane is full.
bool on_pool(Context& context, base::Pool::Lane lane, const std::shared_ptr<class Call>& call,
             std::function<void()> task);
// The same for an answer that is owed: what it tells has happened, so it waits in line however long that is
// (the line is bounded by the connections). 503 only once the pool is closed.
void reply_on_pool(Context& context, const std::shared_ptr<class Call>& call, std::function<void()> task);

// The place of a job that `call` may make (limits.concurrent_jobs), held by it. Without one, with `by_key`:
// it may still join a job (Call::join_only). kRateLimited else.
base::Status take_job_place(Context& context, class Call& call, bool by_key);

}  // namespace millrace::api
