#include "tests/unit/workers/exec_house.h"

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

bool wait_for_stop(const machines::StopSwitch& stop) {
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
  if (!written) throw std::runtime_error("no memory for a file");
  return file;
}

ExecHouse::ExecHouse(Play play, Options options)
    : ExecHouse(
          RunCommand([play = std::move(play)](
                         const machines::CommandOrder& order, const machines::StopSwitch& stop,
                         const machines::CommandHooks& hooks) { return play(order, stop, hooks.output); }),
          std::move(options)) {}

ExecHouse::ExecHouse(RunCommand play, Options options) : house(options.house) {
  Answer<schemas::Machine> made;
  const base::WallTime now = house.clock->wall();
  storage::Machines(*house.store)
      .ensure_local("default", base::Uuid::make(now), {schemas::Kind::kMachine, base::Uuid::make(now)},
                    made.take());
  auto local = made.wait();
  if (!local) throw std::runtime_error(local.error().message);
  machine = std::move(*local);
  RunCommand run = [this, play = std::move(play)](const machines::CommandOrder& order,
                                                  const machines::StopSwitch& stop,
                                                  const machines::CommandHooks& hooks) {
    ++begun;
    return play(order, stop, hooks);
  };
  house.worker = house.bare_worker();
  ExecRunner::Options runner{.secret_key = secret_key, .output_max = options.output_max};
  house.worker->add(schemas::Kind::kExec, options.slots,
                    std::make_unique<ExecRunner>(std::move(run), std::move(runner)));
  house.worker->add(schemas::Kind::kOcr, house.options.slots, std::make_unique<ScriptedRunner>(house.script));
  house.worker->start();
}

schemas::ExecutionSpec ExecHouse::spec() const {
  schemas::ExecutionSpec spec;
  spec.machine = machine.id;
  spec.command = {"/bin/true"};
  return spec;
}

schemas::JobId ExecHouse::submit(Wanted wanted) {
  jobs::Order order;
  order.id = house.submitter->new_id(schemas::Kind::kExec);
  order.lane_key = schemas::machine_id(wanted.spec.machine);
  order.rerun_on_loss = wanted.rerun_on_loss;
  for (const auto& [name, value] : wanted.environment) wanted.spec.env_names.push_back(name);
  order.spec = schemas::to_json(wanted.spec);
  if (order.spec.size() > storage::kInlineMax) {
    auto staged = stage(house.store->blobs(), order.spec);
    if (!staged) throw std::runtime_error(staged.error().message);
    order.spec_blob = std::move(*staged);
    order.spec.clear();
  }
  if (!wanted.input.empty()) {
    auto staged = stage(house.store->blobs(), wanted.input);
    if (!staged) throw std::runtime_error(staged.error().message);
    order.input = std::move(*staged);
  }
  if (!wanted.environment.empty()) {
    const std::string& key = wanted.sealed_with.empty() ? secret_key : wanted.sealed_with;
    order.secret = base::seal(key, order.id.str(), schemas::to_json(wanted.environment));
  }
  return house.submit(std::move(order));
}

base::Result<schemas::JobView> ExecHouse::cancel(const schemas::JobId& job) {
  Answer<schemas::JobView> answer;
  jobs::Control(*house.store, *house.clock).cancel({"default"}, job, answer.take());
  return answer.wait();
}

int ExecHouse::release_leases() {
  Answer<int> released;
  storage::JobMaintenance(*house.store)
      .release_worker(house.worker->name(), jobs::kLossesMax, released.take());
  return released.wait().value_or(-1);
}

std::vector<schemas::JobEvent> ExecHouse::events(const schemas::JobId& job) {
  auto events = storage::JobQueries(*house.store).events("default", job, 0, kEventsMax);
  if (!events) throw std::runtime_error(events.error().message);
  return std::move(*events);
}

std::string ExecHouse::output(const schemas::JobId& job, std::string_view stream) {
  std::string all;
  for (const schemas::JobEvent& event : events(job)) {
    if (event.type == stream) all += schemas::output_bytes(event.data).value_or("not output");
  }
  return all;
}

std::optional<schemas::ExecutionResult> ExecHouse::result(const schemas::JobId& job) {
  const auto record = storage::JobQueries(*house.store).record("default", job);
  if (!record || !record->result) return std::nullopt;
  const auto result = schemas::execution_result_from_json(record->result->bytes);
  if (!result) return std::nullopt;
  return *result;
}

std::vector<std::pair<std::string, std::string>> ExecHouse::artifacts(const schemas::JobId& job) {
  const auto record = storage::JobQueries(*house.store).record("default", job);
  if (!record) throw std::runtime_error(record.error().message);
  std::vector<std::pair<std::string, std::string>> all;
  for (const auto& [id, name] : record->artifacts) {
    const auto file = storage::Artifacts(*house.store).open("default", machine.id, id);
    if (!file) throw std::runtime_error(file.error().message);
    std::string bytes(std::size_t{1} << 16, '\0');
    const ssize_t got = ::read(file->fd(), bytes.data(), bytes.size());
    bytes.resize(got < 0 ? 0 : static_cast<std::size_t>(got));
    all.emplace_back(name, std::move(bytes));
  }
  return all;
}

}  // namespace millrace::workers
