#pragma once
#include <atomic>
#include <chrono>
#include <cstddef>
#include <functional>
#include <limits>
#include <memory>
#include <string>
#include <vector>

#include "ai/inference/chat/chat.h"
#include "ai/inference/routing/model_lists.h"
#include "api/admission/allowed_hosts.h"
#include "api/admission/byte_budget.h"
#include "api/admission/cors.h"
#include "api/admission/failed_attempts.h"
#include "api/admission/keyed_semaphore.h"
#include "api/jobs/job_wait.h"
#include "api/media/page_pictures.h"
#include "jobs/feed.h"
#include "jobs/job_submitter.h"
#include "jobs/waiters.h"
#include "machines/keys/ssh_authority.h"
#include "platform/base/clock.h"
#include "platform/base/metrics.h"
#include "platform/base/pool.h"
#include "platform/net/fetch_guard.h"
#include "platform/net/loop.h"
#include "schemas/batches/batch_limits.h"
#include "schemas/media/local_transcription.h"
#include "schemas/media/local_voices.h"
#include "storage/jobs/job_intake.h"
#include "storage/jobs/job_queries.h"
#include "storage/store.h"

namespace millrace::api {

class BatchRunner;
class LiveCalls;
class LiveOverview;
class TokenLimits;
class UsageMeter;
class Revocations;
class ActiveResponders;

// The dispatch component of /readyz. Filled from bus::HealthReport, which this module does not include.
struct DispatchHealth {
  bool ok = true;
  std::string detail;
};

struct Options {
  // Processes that share the limits per minute; set if there may be several.
  std::function<int()> api_processes = [] { return 1; };
  std::string public_url = {};          // base of links, without a trailing slash; empty: relative links
  bool metrics_open = false;            // /metrics needs no key
  std::vector<std::string> hosts = {};  // AllowedHosts, in addition to localhost and addresses
  std::vector<std::string> cors_origins = {};  // Cors
  std::size_t body_budget_bytes = 512u << 20;  // request bodies in memory at once, over all connections; 503
  // A separate budget for bodies without a key that is in memory; half of it has space for one of the
  // largest. If it is exhausted, even a valid key gets 503.
  std::size_t unauthenticated_budget_bytes = 160u << 20;
  std::string executions_off = {};  // not empty: why this process runs no commands; new executions get 503
  std::size_t reply_bytes_max = 256u << 20;  // limit for a job's result in one reply; 413
  // Results in memory while they are sent, over all connections; 503. At least `reply_bytes_max`.
  std::size_t reply_budget_bytes = 512u << 20;
  std::size_t original_request_bytes_max = 16u << 20;  // limit for a job's original request in one reply; 413
  int pictures_per_tenant = 8;                         // page pictures in progress; 429
  schemas::BatchLimits batches = {};
  int failed_keys_per_minute = FailedAttempts::kPerMinute;  // of a client address; 429. 0: no limit
  // Requests of one tenant that run at once, of all its connections; 429.
  int requests_per_tenant = std::numeric_limits<int>::max();
  int joins_per_tenant = 8;                      // uploads that are being completed; 503
  int streams_per_key = 64;                      // open event streams; 429
  int list_rows_max = storage::kListRowsMax;     // rows that a list scans before it yields
  std::chrono::milliseconds sync_wait{120'000};  // wait of a synchronous OCR request; 504
  std::chrono::milliseconds stt_wait{120'000};   // wait of a synchronous request with a recording; 504
  schemas::LocalTranscriptionModels transcription_models = schemas::LocalTranscriptionModels();
  bool tells_speakers_apart = false;  // the local transcription models do (stt.speakers)
  schemas::LocalVoiceModels voice_models = schemas::LocalVoiceModels();
  std::chrono::milliseconds prefer_wait_max{60'000};
  std::chrono::milliseconds run_at_max =
      std::chrono::hours(24) * 30;  // how far ahead a job may be scheduled; 422
  std::chrono::milliseconds event_ping{15'000};
  std::chrono::milliseconds feed_interval{250};         // /v1/admin/events: time between checks for changes
  std::chrono::milliseconds feed_overview{2'000};       // /v1/admin/events: time between overviews
  std::chrono::milliseconds ssh_lifetime{15 * 60'000};  // validity of the certificate of an SSH session
  // Which URLs webhooks may have (webhooks.allowed_hosts).
  std::shared_ptr<const net::FetchGuard> webhook_guard =
      std::make_shared<net::FetchGuard>(std::vector<std::string>());
  int webhooks_per_tenant = 20;                                         // 409
  std::chrono::milliseconds webhook_rotation = std::chrono::hours(24);  // both secrets sign for so long
  std::chrono::milliseconds chat_heartbeat{15'000};  // time between heartbeat comments in a model's stream
};

// The dependencies of handlers. All of them outlive every request.
struct Context {
  storage::Store& store;
  jobs::JobSubmitter& submit;
  storage::JobIntake intake;
  base::Pool& pool;
  net::Loop& loop;
  base::Metrics& metrics;
  const base::Clock& clock;
  const std::function<DispatchHealth()>& dispatch_health;
  const Options& options;
  const AllowedHosts& hosts;
  const Cors& cors;
  JobWaits& waits;
  ByteBudget& replies;
  TokenLimits& tokens;
  UsageMeter& usage;
  const net::FetchGuard* fetch_guard;  // may be null
  const std::atomic<bool>& draining;
  const std::string& openapi;
  const std::string& secret_key;  // 32 bytes; encrypts the secrets in requests
  const std::shared_ptr<const machines::SshAuthority>& ssh_authority;  // null: no SSH sessions; 503
  Revocations& revocations;
  inference::Chat& chat;
  inference::ModelLists& model_lists;
  ActiveResponders& active_responders;
  const std::string& pepper;  // of API keys (api/admission/keys.h)
  LiveCalls& live_calls;
  LiveOverview& live_overview;
  jobs::Feed* feed;  // may be null
  const PagePictures& pictures;
  BatchRunner* batches;             // null: this process does not run batches
  KeyedSemaphore& picture_permits;  // by tenant
  KeyedSemaphore& stream_permits;   // by key id
  KeyedSemaphore& join_permits;     // of uploads that are being completed, by tenant
};

// Runs `task` on the pool. If that queue of the pool is full, sends 503 and returns false.
bool on_pool(Context& context, base::Pool::Queue queue, const std::shared_ptr<class Call>& call,
             std::function<void()> task);
// Runs `task` on the pool to send a response about something that has already happened. The task is queued
// even if the queue is full; the number of connections bounds it. Sends 503 only if the pool is closed.
void reply_on_pool(Context& context, const std::shared_ptr<class Call>& call, std::function<void()> task);

}  // namespace millrace::api
