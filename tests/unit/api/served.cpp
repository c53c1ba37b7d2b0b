#include "tests/unit/api/served.h"

#include <future>

#include "api/secret_file.h"
#include "platform/base/base64.h"
#include "storage/machine_rows.h"

namespace millrace::api::test {
namespace {

// Runs a move and waits for its commit.
template <class T, class Start>
base::Result<T> committed(Start start) {
  auto promise = std::make_shared<std::promise<base::Result<T>>>();
  auto future = promise->get_future();
  start([promise](base::Result<T> result) { promise->set_value(std::move(result)); });
  return future.get();
}

storage::Staged staged(storage::Store& store, const std::string& content) {
  auto blob = store.blobs().begin(static_cast<std::int64_t>(content.size())).value();
  EXPECT_TRUE(blob->append(content).has_value());
  return blob->finish().value();
}

}  // namespace

Served::Served(std::chrono::milliseconds stuck_lock_after) {
  auto opened = storage::Store::open({.data_dir = folder.str(), .stuck_lock_after = stuck_lock_after}, clock);
  if (!opened) throw std::runtime_error(opened.error().message);
  store = std::move(*opened);
  pepper_text = *pepper(folder.str());
  waiters = std::make_unique<jobs::Waiters>(*store);
  submit = std::make_unique<jobs::Submit>(*store, clock);
  control = std::make_unique<jobs::Control>(*store, clock);
  pool = std::make_unique<base::Pool>(base::Pool::Options{});
  loop = std::make_unique<net::Loop>("api");
  store->on_commit([this](const storage::Commit& commit) {
    for (const storage::Change& each : commit.changes) waiters->hear(each.job, each.version, each.status);
  });
}

Served::~Served() {
  if (service) service->drain();
  if (server) server->stop();
  if (service) service->stop();
  loop->stop();
  pool->close();
  store->close();
}

void Served::start(Options options) {
  service = std::make_unique<Service>(Service::Dependencies{.store = *store,
                                                            .submit = *submit,
                                                            .control = *control,
                                                            .waiters = *waiters,
                                                            .pool = *pool,
                                                            .loop = *loop,
                                                            .metrics = metrics,
                                                            .clock = clock,
                                                            .dispatch_health = [this] { return dispatch; },
                                                            .options = std::move(options),
                                                            .secret_key = secret_key},
                                      pepper_text);
  ASSERT_TRUE(service->start().has_value());
  server = std::make_unique<front::Server>(
      front::Server::Options{.host = "127.0.0.1", .port = 0, .threads = 1, .limits = {}}, *service);
  ASSERT_TRUE(server->start().has_value());
  owner = key();
}

std::string Served::key(schemas::ScopeSet scopes, const std::string& tenant) {
  const auto made =
      create_key(*store, pepper_text, {.name = "test", .tenant = tenant, .scopes = scopes, .expires_at = {}});
  EXPECT_TRUE(made.has_value());
  return made ? made->text : std::string();
}

std::string Served::key(std::initializer_list<schemas::Scope> scopes) {
  schemas::ScopeSet set;
  for (const schemas::Scope each : scopes) set.add(each);
  return key(set);
}

Answer Served::get(const std::string& path, const std::string& headers) {
  return send({.method = "GET", .path = path, .key = owner, .headers = headers, .body = {}});
}

Answer Served::post(const std::string& path, const std::string& body, const std::string& headers) {
  return send({.method = "POST", .path = path, .key = owner, .headers = headers, .body = body});
}

std::string Served::machine(const std::string& tenant) {
  schemas::Machine wanted;
  wanted.id = base::Uuid::make(clock.wall());
  wanted.tenant = tenant;
  wanted.name = "test";
  storage::Machines machines(*store);
  const auto made = committed<schemas::Machine>(
      [&](storage::Done<schemas::Machine> done) { machines.create(std::move(wanted), std::move(done)); });
  EXPECT_TRUE(made.has_value());
  return made ? schemas::machine_id(made->id) : std::string();
}

std::optional<storage::Claimed> Served::claim(schemas::Kind kind) {
  storage::JobClaims claims(*store);
  auto claimed =
      committed<std::vector<storage::Claimed>>([&](storage::Done<std::vector<storage::Claimed>> done) {
        claims.claim({.kind = kind, .worker = "test"}, std::move(done));
      });
  EXPECT_TRUE(claimed.has_value());
  if (!claimed || claimed->empty()) return std::nullopt;
  return std::move(claimed->front());
}

storage::Applied Served::finish(const storage::Lease& lease, const std::string& result) {
  storage::JobOutcomes outcomes(*store);
  storage::Payload payload{.bytes = result, .blob = {}};
  if (result.size() > storage::kInlineMax) payload = {.bytes = {}, .blob = staged(*store, result)};
  return committed<storage::Applied>([&](storage::Done<storage::Applied> done) {
           outcomes.finish(lease, std::move(payload), std::move(done));
         })
      .value();
}

storage::Applied Served::fail(const storage::Lease& lease, base::Code code, const std::string& message,
                              const std::string& result) {
  storage::JobOutcomes outcomes(*store);
  return committed<storage::Applied>([&](storage::Done<storage::Applied> done) {
           outcomes.fail(lease, {.code = code, .message = message}, {.bytes = result, .blob = {}},
                         std::move(done));
         })
      .value();
}

storage::Applied Served::tell(const storage::Lease& lease, std::vector<storage::JobOutcomes::Event> events) {
  storage::JobOutcomes outcomes(*store);
  return committed<storage::Applied>([&](storage::Done<storage::Applied> done) {
           outcomes.events(lease, std::move(events), std::move(done));
         })
      .value();
}

storage::Applied Served::part(const storage::Lease& lease, int index, const std::string& page) {
  storage::JobOutcomes outcomes(*store);
  return committed<storage::Applied>([&](storage::Done<storage::Applied> done) {
           outcomes.parts(lease, {{.index = index, .payload = {.bytes = page, .blob = {}}}}, std::move(done));
         })
      .value();
}

std::string ocr_body(std::string_view document, std::string_view more) {
  return R"({"document":{"type":"document_url","document_url":"data:application/pdf;base64,)" +
         base::base64_encode(document) + R"("})" + std::string(more) + "}";
}

std::string pdf_of(std::size_t bytes) {
  std::string out = "%PDF-1.4\n";
  out.resize(std::max(bytes, out.size()), 'x');
  return out;
}

}  // namespace millrace::api::test
