#pragma once
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include <gtest/gtest.h>

#include "api/front/server.h"
#include "api/keys.h"
#include "api/service.h"
#include "storage/job_claims.h"
#include "storage/job_outcomes.h"
#include "tests/support/temp_dir.h"
#include "tests/unit/api/http.h"

namespace millrace::api::test {

// What the API stands on, over a real store in a directory of its own, on a real server; the test is the
// worker.
class Served : public ::testing::Test {
 protected:
  // `stuck_lock_after`: when a store that waits for another process says so.
  explicit Served(std::chrono::milliseconds stuck_lock_after = std::chrono::seconds(2));
  ~Served() override;

  // REQUIRES: called once, first.
  void start(Options options = {});
  std::string key(schemas::ScopeSet scopes = schemas::ScopeSet::all_but_admin(),
                  const std::string& tenant = "default");
  std::string key(std::initializer_list<schemas::Scope> scopes);

  Answer get(const std::string& path, const std::string& headers = {});
  Answer post(const std::string& path, const std::string& body, const std::string& headers = {});
  Answer send(const Ask& request) { return test::ask(server->port(), request); }

  // A machine of that tenant: its id.
  std::string machine(const std::string& tenant = "default");

  // As a worker does it.
  std::optional<storage::Claimed> claim(schemas::Kind kind = schemas::Kind::kOcr);
  storage::Applied finish(const storage::Lease& lease, const std::string& result);
  storage::Applied fail(const storage::Lease& lease, base::Code code, const std::string& message,
                        const std::string& result = {});
  storage::Applied tell(const storage::Lease& lease, std::vector<storage::JobOutcomes::Event> events);
  storage::Applied part(const storage::Lease& lease, int index, const std::string& page);

  support::TempDir folder;
  base::SystemClock clock;
  base::Metrics metrics;
  std::unique_ptr<storage::Store> store;
  std::string pepper_text;
  const std::string secret_key = std::string(32, 'k');
  std::unique_ptr<jobs::Waiters> waiters;
  std::unique_ptr<jobs::Submit> submit;
  std::unique_ptr<jobs::Control> control;
  std::unique_ptr<base::Pool> pool;
  std::unique_ptr<net::Loop> loop;
  std::unique_ptr<Service> service;
  std::unique_ptr<front::Server> server;
  DispatchHealth dispatch;
  std::string owner;  // the key that `get` and `post` use
};

// {"document": {"document_url": …}} around bytes, as a data URI.
std::string ocr_body(std::string_view document, std::string_view more = {});
// A document of that many bytes that begins as a PDF does.
std::string pdf_of(std::size_t bytes);

}  // namespace millrace::api::test
