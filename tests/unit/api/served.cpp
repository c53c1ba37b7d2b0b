#include "tests/unit/api/served.h"

#include <filesystem>
#include <future>

#include "api/admission/keys.h"
#include "platform/base/base64.h"
#include "schemas/machines/artifact.h"
#include "storage/admin/audit.h"
#include "storage/machines/machines.h"
#include "tests/support/wait_until.h"

namespace millrace::api::test {
namespace {

// Runs a transition and waits for its commit.
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
  models.mock = true;
  pepper_text = *pepper(folder.str());
  authority = machines::SshAuthority::open(folder.str()).value();
  waiters = std::make_unique<jobs::Waiters>(*store);
  submit = std::make_unique<jobs::JobSubmitter>(*store, clock);
  pool = std::make_unique<base::Pool>(base::Pool::Options{});
  loop = std::make_unique<net::Loop>("api");
  store->on_commit([this](const storage::Commit& commit) {
    for (const schemas::JobChange& each : commit.changes) {
      waiters->on_change(each.job, each.version, each.status);
      feed.on_change({each.job, each.tenant, each.version, each.status, each.waking, each.scheduled});
    }
  });
}

Served::~Served() {
  if (service) service->drain();
  if (server) server->stop();
  if (service) service->stop();
  model_lists.reset();
  chat.reset();
  http.reset();
  loop->stop();
  pool->close();
  store->close();
}

void Served::start(Options options) {
  if (options.hosts.empty()) options.hosts = {"a", "test"};  // what the tests send
  http = std::make_unique<net::HttpClient>(*loop);
  chat = std::make_unique<inference::Chat>(
      inference::Chat::Dependencies{*loop, *http, fetch_guard, *pool, metrics, {}},
      std::make_shared<const inference::Registry>(models));
  model_lists = std::make_unique<inference::ModelLists>(
      inference::ModelLists::Dependencies{*loop, *http, *pool}, models);
  service = std::make_unique<Service>(Service::Dependencies{.store = *store,
                                                            .submit = *submit,
                                                            .waiters = *waiters,
                                                            .pool = *pool,
                                                            .loop = *loop,
                                                            .metrics = metrics,
                                                            .clock = clock,
                                                            .model_lists = *model_lists,
                                                            .chat = *chat,
                                                            .dispatch_health = [this] { return dispatch; },
                                                            .options = std::move(options),
                                                            .secret_key = secret_key,
                                                            .ssh_authority = authority,
                                                            .feed = &feed,
                                                            .pictures = pictures},
                                      pepper_text);
  ASSERT_TRUE(service->start().has_value());
  server = std::make_unique<front::Server>(
      front::Server::Options{.host = "127.0.0.1", .port = 0, .threads = 1, .limits = {}}, *service);
  ASSERT_TRUE(server->start().has_value());
  owner = key();
}

std::string Served::key(schemas::ScopeSet scopes, const std::string& tenant) {
  const auto made = create_key(*store, pepper_text,
                               {.name = "test", .tenant = tenant, .scopes = scopes, .limits = key_limits});
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

Answer Served::remove(const std::string& path, const std::string& headers) {
  return send({.method = "DELETE", .path = path, .key = owner, .headers = headers, .body = {}});
}

std::string Served::code(const Answer& answer) {
  return std::to_string(answer.status) + " " + answer.json()["error"].value("code", "");
}

std::vector<std::string> Served::files() const {
  std::vector<std::string> out;
  for (const auto& each : std::filesystem::recursive_directory_iterator(folder.str() + "/blobs")) {
    if (each.is_regular_file()) out.push_back(each.path().string());
  }
  return out;
}

bool Served::leaves_nothing() const {
  return support::wait_until([this] { return files().empty(); });
}

std::string Served::new_machine(const std::string& tenant) {
  schemas::Machine wanted;
  wanted.id = base::Uuid::make(clock.wall());
  wanted.tenant = tenant;
  wanted.name = "test-" + wanted.id.str();
  const std::string id = schemas::machine_id(wanted.id);
  const storage::IdempotentCall call{
      .tenant = tenant, .actor = "test", .key = {}, .act = submit->new_id(schemas::Kind::kMachine)};
  const auto made = committed<storage::CallReply>([&](storage::Callback<storage::CallReply> done) {
    storage::Machines(*store).create(
        std::move(wanted), call, [](const schemas::Machine&) { return std::string(); }, std::move(done));
  });
  EXPECT_TRUE(made.has_value());
  return id;
}

std::string Served::machine(const std::string& tenant) {
  const std::string id = new_machine(tenant);
  EXPECT_EQ(act(), "wake");
  return id;
}

std::string Served::ssh_machine(const std::string& host, int port) {
  schemas::Machine wanted;
  wanted.id = base::Uuid::make(clock.wall());
  wanted.tenant = "default";
  wanted.name = "remote-" + wanted.id.str();
  wanted.driver = schemas::MachineDriver::kSsh;
  wanted.source = schemas::MachineSource::kFile;
  wanted.settings.ssh = schemas::SshTarget{.host = host, .port = port, .user = "ci", .host_key = {}};
  const std::string id = schemas::machine_id(wanted.id);
  const auto made = committed<int>([&](storage::Callback<int> done) {
    storage::Machines(*store).apply_config_file({wanted}, {submit->new_id(schemas::Kind::kMachine)},
                                                std::move(done));
  });
  EXPECT_TRUE(made.has_value());
  EXPECT_EQ(act(), "wake");
  return id;
}

std::string Served::act(const schemas::ActResult& result) {
  const auto claimed = claim(schemas::Kind::kMachine);
  if (!claimed) return {};
  finish(claimed->lease, schemas::to_json(result));
  const auto spec = schemas::act_spec_from_json(claimed->spec);
  return spec ? std::string(schemas::name(spec->act)) : "unreadable";
}

void Served::fail_act(base::Code code, const std::string& message) {
  const auto claimed = claim(schemas::Kind::kMachine);
  ASSERT_TRUE(claimed.has_value());
  fail(claimed->lease, code, message);
}

storage::ReportResult Served::leave(const storage::Lease& lease, const std::string& machine,
                                    const std::string& name, const std::string& content) {
  storage::JobOutcomes outcomes(*store);
  std::vector<storage::JobOutcomes::NewArtifact> files;
  files.push_back({.id = base::Uuid::make(clock.wall()),
                   .name = name,
                   .mime_type = std::string(schemas::mime_type_of(name)),
                   .content = staged(*store, content)});
  return committed<storage::ReportResult>([&](storage::Callback<storage::ReportResult> done) {
           outcomes.artifacts(lease, *schemas::machine_id_from(machine), std::move(files), std::move(done));
         })
      .value();
}

std::optional<storage::ClaimedJob> Served::claim(schemas::Kind kind) {
  storage::JobClaims claims(*store);
  auto claimed = committed<std::vector<storage::ClaimedJob>>(
      [&](storage::Callback<std::vector<storage::ClaimedJob>> done) {
        claims.claim({.kind = kind, .worker = "test"}, std::move(done));
      });
  EXPECT_TRUE(claimed.has_value());
  if (!claimed || claimed->empty()) return std::nullopt;
  return std::move(claimed->front());
}

storage::ReportResult Served::finish(const storage::Lease& lease, const std::string& result) {
  storage::JobOutcomes outcomes(*store);
  storage::Payload payload{.bytes = result, .blob = {}};
  if (result.size() > storage::kInlineMax) payload = {.bytes = {}, .blob = staged(*store, result)};
  return committed<storage::ReportResult>([&](storage::Callback<storage::ReportResult> done) {
           outcomes.finish(lease, std::move(payload), std::move(done));
         })
      .value();
}

storage::ReportResult Served::fail(const storage::Lease& lease, base::Code code, const std::string& message,
                                   const std::string& result) {
  storage::JobOutcomes outcomes(*store);
  return committed<storage::ReportResult>([&](storage::Callback<storage::ReportResult> done) {
           outcomes.fail(lease, {.code = code, .message = message}, {.bytes = result, .blob = {}},
                         std::move(done));
         })
      .value();
}

storage::ReportResult Served::release(const storage::Lease& lease) {
  storage::JobOutcomes outcomes(*store);
  return committed<storage::ReportResult>([&](storage::Callback<storage::ReportResult> done) {
           outcomes.return_to_queue(lease, std::move(done));
         })
      .value();
}

storage::ReportResult Served::append_events(const storage::Lease& lease,
                                            std::vector<storage::JobOutcomes::Event> events) {
  storage::JobOutcomes outcomes(*store);
  return committed<storage::ReportResult>([&](storage::Callback<storage::ReportResult> done) {
           outcomes.events(lease, std::move(events), std::move(done));
         })
      .value();
}

storage::ReportResult Served::part(const storage::Lease& lease, int index, const std::string& page) {
  storage::JobOutcomes outcomes(*store);
  return committed<storage::ReportResult>([&](storage::Callback<storage::ReportResult> done) {
           outcomes.parts(lease, {{.index = index, .payload = {.bytes = page, .blob = {}}}}, {},
                          std::move(done));
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

std::vector<std::string> Served::audited(const std::string& target) {
  std::vector<std::string> acts;
  const auto rows = storage::Audit(*store).rows(0, 999).value();
  const std::string actor = owner.substr(owner.find('_', owner.find('_') + 1) + 1, 8);
  for (const storage::AuditRow& row : rows) {
    if (row.entry.target != target) continue;
    EXPECT_EQ(row.entry.actor, actor);
    acts.push_back(row.entry.act);
  }
  return acts;
}

}  // namespace millrace::api::test
