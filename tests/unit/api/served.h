#pragma once
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "ai/inference/chat/chat.h"
#include "api/admission/keys.h"
#include "api/front/server.h"
#include "api/service.h"
#include "machines/keys/ssh_authority.h"
#include "schemas/machines/machine_lifecycle.h"
#include "storage/jobs/job_claims.h"
#include "storage/jobs/job_outcomes.h"
#include "tests/support/temp_dir.h"
#include "tests/unit/api/http.h"

namespace millrace::api::test {

inline constexpr const char* kAsync = "Prefer: respond-async\r\n";
// The result for a document of nine bytes without pages.
inline constexpr const char* kReply =
    R"({"pages":[],"model":"millrace/ocr","usage_info":{"pages_processed":0,"doc_size_bytes":9}})";

// The API with its dependencies, over a real store in a new directory and on a real server. The test acts as
// the worker.
class Served : public ::testing::Test {
 protected:
  // `stuck_lock_after`: how long another process may hold the write lock before the store reports that it is
  // stuck.
  explicit Served(std::chrono::milliseconds stuck_lock_after = std::chrono::seconds(2));
  ~Served() override;

  // REQUIRES: called once and before all other members.
  void start(Options options = {});
  // Starts with a limit of the keys that are made from now on.
  void start_limited(schemas::Quota quota, std::int64_t limit) {
    key_limits[quota] = limit;
    start();
  }
  schemas::Limits key_limits;
  std::string key(schemas::ScopeSet scopes = schemas::ScopeSet::of_a_new_key(),
                  const std::string& tenant = "default");
  std::string key(std::initializer_list<schemas::Scope> scopes);

  Answer get(const std::string& path, const std::string& headers = {});
  Answer post(const std::string& path, const std::string& body, const std::string& headers = {});
  Answer remove(const std::string& path, const std::string& headers = {});
  Answer send(const TestRequest& request) { return test::send_request(server->port(), request); }

  // "422 audio_empty"
  static std::string code(const Answer& answer);
  // All files under the blob folder.
  std::vector<std::string> files() const;
  bool leaves_nothing() const;

  // Creates a machine of `tenant` and returns its id. After `new_machine`, the machine has not woken yet and
  // its first operation waits for a worker.
  std::string new_machine(const std::string& tenant = "default");
  std::string machine(const std::string& tenant = "default");
  // A machine of driver ssh that is awake.
  std::string ssh_machine(const std::string& host, int port);
  // Runs the next machine operation as a worker does. Returns its name; empty: there is none.
  std::string act(const schemas::ActResult& result = {});
  // Claims the next machine operation and fails it.
  void fail_act(base::Code code, const std::string& message);

  // The calls that a worker makes.
  std::optional<storage::ClaimedJob> claim(schemas::Kind kind = schemas::Kind::kOcr);
  storage::ReportResult finish(const storage::Lease& lease, const std::string& result);
  storage::ReportResult fail(const storage::Lease& lease, base::Code code, const std::string& message,
                             const std::string& result = {});
  storage::ReportResult release(const storage::Lease& lease);  // back to the queue
  storage::ReportResult append_events(const storage::Lease& lease,
                                      std::vector<storage::JobOutcomes::Event> events);
  storage::ReportResult leave(const storage::Lease& lease, const std::string& machine,
                              const std::string& name, const std::string& content);
  storage::ReportResult part(const storage::Lease& lease, int index, const std::string& page);

  // The actions in the audit log for `target`, in order. Checks that the key of `get` and `post` made each of
  // them.
  std::vector<std::string> audited(const std::string& target);

  support::TempDir folder;
  base::SystemClock clock;
  base::Metrics metrics;
  std::unique_ptr<storage::Store> store;
  std::string pepper_text;
  std::shared_ptr<const machines::SshAuthority> authority;
  const std::string secret_key = std::string(32, 'k');
  std::unique_ptr<jobs::Waiters> waiters;
  jobs::Feed feed;  // receives the commits of `store`
  std::unique_ptr<jobs::JobSubmitter> submit;
  std::unique_ptr<base::Pool> pool;
  std::unique_ptr<net::Loop> loop;
  const net::FetchGuard fetch_guard{{}};
  std::unique_ptr<net::HttpClient> http;
  std::unique_ptr<inference::Chat> chat;  // mock/chat and the models of `models`
  std::unique_ptr<inference::ModelLists> model_lists;
  std::unique_ptr<Service> service;
  std::unique_ptr<front::Server> server;
  DispatchHealth dispatch;
  inference::ModelSettings models;  // tests change it before `start`
  PagePictures pictures;            // the same
  std::string owner;                // the key that `get` and `post` use
};

// {"document": {"document_url": …}} with the bytes as a data URI.
std::string ocr_body(std::string_view document, std::string_view more = {});
// A document of `bytes` bytes with the first bytes of a PDF.
std::string pdf_of(std::size_t bytes);

}  // namespace millrace::api::test
