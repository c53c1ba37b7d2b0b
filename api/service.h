#pragma once
#include <chrono>
#include <functional>
#include <memory>
#include <string>

#include "api/context.h"
#include "api/front/exchange.h"

namespace millrace::api {

// The application of the front::Server: routes, guard, keys, handlers. Created once, before the server.
// Everything in Dependencies outlives it, and the server's requests are over before it is destroyed.
class Service final : public front::Application {
 public:
  struct Dependencies {
    storage::Store& store;
    jobs::JobSubmitter& submit;
    jobs::Waiters& waiters;
    base::Pool& pool;
    net::Loop& loop;
    base::Metrics& metrics;
    const base::Clock& clock;
    inference::ModelLists& model_lists;
    inference::Chat& chat;                            // runs on `loop`
    std::function<DispatchHealth()> dispatch_health;  // for /readyz; called on any thread, must not block
    Options options;
    // 32 bytes: encrypts the environments of commands (base::seal). Runners need the same key.
    std::string secret_key = {};
    // The CAs of SSH sessions; null: SSH endpoints respond with 503.
    std::shared_ptr<const machines::SshAuthority> ssh_authority = {};
    // Changes of all jobs, for /v1/admin/events; null: that stream contains only overviews.
    jobs::Feed* feed = nullptr;
    // Checks the URLs of documents before a job is made; null: only the worker, whose settings decide, checks
    // them.
    const net::FetchGuard* fetch_guard = nullptr;
    // Pictures of documents' pages; if it is empty, their route responds with 503. All renderings end before
    // the engine is destroyed.
    PagePictures pictures = {};
  };

  // `pepper`: api/admission/keys.h.
  Service(Dependencies dependencies, const std::string& pepper);
  ~Service() override;  // stop()
  Service(const Service&) = delete;
  Service& operator=(const Service&) = delete;

  // Loads the keys (blocks) and starts the refresh of keys and waiters, once a second. Error: the store
  // cannot be read.
  base::Status start();
  // Shutdown in two steps. After `refuse_new`, requests that need a key get 503, and /health and /readyz
  // report "draining". `drain` also ends all waits and event streams; synchronous requests get 504 with the
  // job's id. Direct chats and media are cut off after `grace`. Any thread; never block.
  void refuse_new();
  void drain(std::chrono::milliseconds grace = std::chrono::seconds(4));
  // Stops the refresh. Call it after the server has stopped and before the pool and the loop stop.
  // Idempotent.
  void stop();

  front::Admission admit(const front::Head& head) override;
  void run(front::Request request, front::Responder responder) override;
  front::Reply error_reply(int status, std::string_view message, const front::Head& head) override;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace millrace::api
