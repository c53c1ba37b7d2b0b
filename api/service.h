#pragma once
#include <functional>
#include <memory>
#include <string>

#include "api/context.h"
#include "api/front/exchange.h"

namespace millrace::api {

// The API behind a front::Server: routes, guard, keys, handlers. Made once, before the server; everything in
// Dependencies outlives it, and the server's requests are over before it goes.
class Service final : public front::Application {
 public:
  struct Dependencies {
    storage::Store& store;
    jobs::Submit& submit;
    jobs::Control& control;
    jobs::Waiters& waiters;
    base::Pool& pool;
    net::Loop& loop;
    base::Metrics& metrics;
    const base::Clock& clock;
    inference::ModelLists& model_lists;
    inference::Chat& chat;                            // of `loop`
    std::function<DispatchHealth()> dispatch_health;  // for /readyz; any thread, does not block long
    Options options;
    // 32 bytes: the environments of commands are sealed under it (base::seal). Runners need the same one.
    std::string secret_key = {};
    // The CAs of SSH sessions; null: there are none, and their calls get 503.
    std::shared_ptr<const machines::SshAuthority> ssh_authority = {};
    // Changes of all jobs, for /v1/admin/events; null: it tells the overview alone.
    jobs::Feed* feed = nullptr;
    // Pictures of documents' pages; without one its route answers 503. What it begins ends before the engine
    // goes.
    PagePictures pictures = {};
  };

  // `pepper`: api/admission/keys.h.
  Service(Dependencies dependencies, const std::string& pepper);
  ~Service() override;  // stop()
  Service(const Service&) = delete;
  Service& operator=(const Service&) = delete;

  // Loads the keys (blocks) and starts the once-a-second look at keys and waiters. Error: the store's.
  base::Status start();
  // Drain, in two steps: from now on keyed requests get 503, /health and /readyz say "draining"; then all
  // waits and event streams end, too (synchronous ones with 504 naming the job). Any thread; never block.
  void refuse_new();
  void drain();
  // No more looks. After the server has stopped and before the pool and the loop do. Idempotent.
  void stop();

  front::Admission admit(const front::Head& head) override;
  void run(front::Request request, front::Responder responder) override;
  front::Reply error_reply(int status, std::string_view message, const front::Head& head) override;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace millrace::api
