#include "tests/unit/workers/exec_fixture.h"

#include <stdexcept>

#include <poll.h>
#include <sys/mman.h>
#include <unistd.h>

#include "storage/jobs/job_maintenance.h"
#include "storage/machines/artifacts.h"
#include "workers/payload.h"

namespace millrace::workers {
namespace {

constexpr int kEventsMax = 10'000;

}  // namespace

bool wait_for_stop(const machines::CancelToken& stop) {
  pollfd waited{stop.fd(), POLLIN, 0};
  return ::poll(&waited, 1, static_cast<int>(support::kDeadline.count())) == 1;
}

void Gate::open() {
  const std::lock_guard lock(mutex_);
  open_ = true;
  changed_.notify_all();
}

bool Gate::pass() {
  std::unique_lock lock(mutex_);
  return support::wait_until(changed_, lock, [this] { return open_; });
}

machines::ArtifactFile left_file(std::string name, std::string_view bytes) {
  machines::ArtifactFile file;
  file.name = std::move(name);
  file.bytes = static_cast<std::int64_t>(bytes.size());
  file.content.reset(::memfd_create("left", MFD_CLOEXEC));
  const bool written = ::write(file.content.get(), bytes.data(), bytes.size()) == file.bytes &&
                       ::lseek(file.content.get(), 0, SEEK_SET) == 0;
  if (!written) throw std::runtime_error("no memory file could be created");
  return file;
}

ExecFixture::ExecFixture(Play play, Options options)
    : ExecFixture(
          RunCommand([play = std::move(play)](
                         const machines::CommandRequest& request, const machines::CancelToken& stop,
                         const machines::CommandHooks& hooks) { return play(request, stop, hooks.output); }),
          std::move(options)) {}

ExecFixture::ExecFixture(RunCommand play, Options options) : fixture(options.fixture) {
  Answer<schemas::Machine> made;
  const base::WallTime now = fixture.clock->wall();
  storage::Machines(*fixture.store)
      .ensure_local("default", base::Uuid::make(now), {schemas::Kind::kMachine, base::Uuid::make(now)},
                    made.take());
  auto local = made.wait();
  if (!local) throw std::runtime_error(local.error().message);
  machine = std::move(*local);
  RunCommand run = [this, play = std::move(play)](const machines::CommandRequest& request,
                                                  const machines::CancelToken& stop,
                                                  const machines::CommandHooks& hooks) {
    ++begun;
    return play(request, stop, hooks);
  };
  fixture.worker = fixture.bare_worker();
  ExecRunner::Options runner{.secret_key = secret_key, .output_max = options.output_max};
  fixture.worker->add(schemas::Kind::kExec, {options.slots},
                      std::make_unique<ExecRunner>(std::move(run), std::move(runner)));
  fixture.worker->add(schemas::Kind::kOcr, {fixture.options.slots},
                      std::make_unique<ScriptedRunner>(fixture.script));
  fixture.worker->start();
}

schemas::ExecutionSpec ExecFixture::spec() const {
  schemas::ExecutionSpec spec;
  spec.machine = machine.id;
  spec.command = {"/bin/true"};
  return spec;
}

schemas::JobId ExecFixture::submit(Requested wanted) {
  storage::Submission order;
  order.id = fixture.submitter->new_id(schemas::Kind::kExec);
  order.lane_key = schemas::machine_id(wanted.spec.machine);
  if (wanted.rerun_on_loss) order.rerun = schemas::Rerun::kAtLeastOnce;
  for (const auto& [name, value] : wanted.environment) wanted.spec.env_names.push_back(name);
  order.spec = schemas::to_json(wanted.spec);
  if (order.spec.size() > storage::kInlineMax) {
    auto staged = stage(fixture.store->blobs(), order.spec);
    if (!staged) throw std::runtime_error(staged.error().message);
    order.spec_blob = std::move(*staged);
    order.spec.clear();
  }
  if (!wanted.input.empty()) {
    auto staged = stage(fixture.store->blobs(), wanted.input);
    if (!staged) throw std::runtime_error(staged.error().message);
    order.input = std::move(*staged);
  }
  if (!wanted.environment.empty()) {
    const std::string& key = wanted.sealed_with.empty() ? secret_key : wanted.sealed_with;
    order.secret = base::seal(key, order.id.str(), schemas::to_json(wanted.environment));
  }
  return fixture.submit(std::move(order));
}

base::Result<schemas::JobView> ExecFixture::cancel(const schemas::JobId& job) {
  Answer<schemas::JobView> answer;
  storage::JobIntake(*fixture.store).cancel({"default"}, job, answer.take());
  return answer.wait();
}

int ExecFixture::release_leases() {
  Answer<int> released;
  storage::JobMaintenance(*fixture.store)
      .release_worker(fixture.worker->name(), jobs::kLossesMax, released.take());
  return released.wait().value_or(-1);
}

std::vector<schemas::JobEvent> ExecFixture::events(const schemas::JobId& job) {
  auto events = storage::JobQueries(*fixture.store).events("default", job, 0, kEventsMax);
  if (!events) throw std::runtime_error(events.error().message);
  return std::move(*events);
}

std::string ExecFixture::output(const schemas::JobId& job, std::string_view stream) {
  std::string all;
  for (const schemas::JobEvent& event : events(job)) {
    if (event.type == stream) all += schemas::output_bytes(event.data).value_or("not output");
  }
  return all;
}

std::optional<schemas::ExecutionResult> ExecFixture::result(const schemas::JobId& job) {
  const auto record = storage::JobQueries(*fixture.store).record("default", job);
  if (!record || !record->result) return std::nullopt;
  const auto result = schemas::execution_result_from_json(record->result->bytes);
  if (!result) return std::nullopt;
  return *result;
}

std::vector<std::pair<std::string, std::string>> ExecFixture::artifacts(const schemas::JobId& job) {
  const auto record = storage::JobQueries(*fixture.store).record("default", job);
  if (!record) throw std::runtime_error(record.error().message);
  std::vector<std::pair<std::string, std::string>> all;
  for (const auto& [id, name] : record->artifacts) {
    const auto file = storage::Artifacts(*fixture.store).open("default", machine.id, id);
    if (!file) throw std::runtime_error(file.error().message);
    std::string bytes(std::size_t{1} << 16, '\0');
    const ssize_t got = ::read(file->fd(), bytes.data(), bytes.size());
    bytes.resize(got < 0 ? 0 : static_cast<std::size_t>(got));
    all.emplace_back(name, std::move(bytes));
  }
  return all;
}

}  // namespace millrace::workers
