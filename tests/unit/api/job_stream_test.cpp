#include "api/jobs/job_stream.h"

#include <stdexcept>

#include "api/admin/live_overview.h"
#include "api/admission/keyed_semaphore.h"
#include "api/admission/token_limits.h"
#include "api/chat/chat_responder.h"
#include "api/machines/ssh_revocations.h"
#include "api/tenants/usage_meter.h"
#include "tests/support/wait_until.h"
#include "tests/unit/api/served.h"

namespace millrace::api::test {
namespace {

// The dependencies of a stream that Served does not have.
class JobStreams : public Served {
 protected:
  JobStreams() { start(); }

  const std::string openapi = "{}";
  const std::atomic<bool> draining{false};
  const std::function<DispatchHealth()> health;
  const Options options;
  const AllowedHosts hosts{{}};
  const Cors cors{{}};
  JobWaits waits{*waiters, *loop};
  ByteBudget replies{1};
  TokenLimits tokens{clock};
  UsageMeter usage{*store, clock};
  Revocations revocations{*store, authority, clock};
  ActiveResponders active_responders{*loop};
  LiveOverview live_overview;
  Auth auth{*store, pepper_text, 0};
  LiveCalls live_calls{auth};
  KeyedSemaphore picture_permits{1}, stream_permits{1}, join_permits{1};
  HttpMetrics http_metrics{metrics, {}};
  Context context{.store = *store,
                  .submit = *submit,
                  .intake = storage::JobIntake(*store),
                  .pool = *pool,
                  .loop = *loop,
                  .metrics = metrics,
                  .clock = clock,
                  .dispatch_health = health,
                  .options = options,
                  .hosts = hosts,
                  .cors = cors,
                  .waits = waits,
                  .replies = replies,
                  .tokens = tokens,
                  .usage = usage,
                  .fetch_guard = nullptr,
                  .draining = draining,
                  .openapi = openapi,
                  .secret_key = secret_key,
                  .ssh_authority = authority,
                  .revocations = revocations,
                  .chat = *chat,
                  .model_lists = *model_lists,
                  .active_responders = active_responders,
                  .pepper = pepper_text,
                  .live_calls = live_calls,
                  .live_overview = live_overview,
                  .feed = &feed,
                  .pictures = pictures,
                  .batches = nullptr,
                  .picture_permits = picture_permits,
                  .stream_permits = stream_permits,
                  .join_permits = join_permits};
};

class Throwing final : public JobStream {
 public:
  using JobStream::JobStream;
  void begin() { watch(0, std::chrono::hours(1)); }
  void drain() override { over(); }

  std::atomic<int> looks{0}, told{0}, ended{0};

 private:
  PollResult poll() override {
    ++looks;
    throw std::runtime_error("there is no memory");
  }
  void on_poll_exception() override { told += ended == 0 ? 1 : 100; }
  bool send_heartbeat() override { return true; }
  void end_response() override { ++ended; }
};

TEST_F(JobStreams, OneWhoseQueryThrowsSendsAnErrorAndEnds) {
  const auto stream = std::make_shared<Throwing>(context, std::make_shared<Call>(front::Head(), http_metrics),
                                                 submit->new_id(schemas::Kind::kOcr));
  stream->begin();
  EXPECT_TRUE(support::wait_until([&] { return stream->ended == 1 && stream.use_count() == 1; }));
  EXPECT_EQ(stream->told, 1);
  EXPECT_EQ(stream->looks, 1);
}

}  // namespace
}  // namespace millrace::api::test
