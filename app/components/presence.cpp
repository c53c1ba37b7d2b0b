#include "app/components/presence.h"

#include <algorithm>
#include <array>
#include <future>
#include <thread>
#include <utility>

#include "api/admission/keys.h"
#include "platform/base/clock.h"
#include "platform/base/crypto.h"
#include "platform/base/log.h"
#include "storage/data_dir.h"
#include "storage/db/process_end.h"

namespace millrace::app {
namespace {

using std::chrono::steady_clock;

constexpr std::chrono::seconds kReportEvery{2};
constexpr std::chrono::seconds kLeaveMax{2};
// The last process with this name may have been killed a moment ago.
constexpr std::chrono::milliseconds kNameWaitMax = storage::kProcessTimeout + std::chrono::seconds(5);

// The id of a copy of the directory, here or on another computer, is another one: it must not run as the same
// host.
base::Uuid bound_to_this_file(const base::Uuid& id, const std::string& path) {
  const std::string boot = base::SystemClock().boot_id();
  const std::string inode = std::to_string(storage::file_stamp(path).inode);
  const base::Sha256Digest digest = base::sha256(id.str() + "\n" + boot + "\n" + inode);
  std::array<std::uint8_t, 16> bytes{};
  std::copy_n(digest.begin(), bytes.size(), bytes.begin());
  return base::Uuid(bytes);
}

base::Result<base::Uuid> data_dir_id(const std::string& data_dir) {
  const std::string path = data_dir + "/host-id";
  const auto text = api::secret_file(path, [] {
    return base::Uuid::make(
               std::chrono::time_point_cast<base::WallTime::duration>(std::chrono::system_clock::now()))
        .str();
  });
  if (!text) return text.error();
  const auto id = base::Uuid::parse(*text);
  if (!id) return base::error(base::Code::kInternal, path + " contains no id; remove it");
  return bound_to_this_file(*id, path);
}

template <class T, class Start>
base::Result<T> wait_for(Start start) {
  auto promise = std::make_shared<std::promise<base::Result<T>>>();
  auto future = promise->get_future();
  start([promise](base::Result<T> result) { promise->set_value(std::move(result)); });
  return future.get();
}

}  // namespace

base::Status take_name(const std::string& name, const std::function<base::Status()>& take) {
  const auto begun = steady_clock::now();
  while (true) {
    base::Status taken = take();
    if (taken) return taken;
    const bool may_end = taken.error().code == base::Code::kInvalidState;
    if (!may_end || steady_clock::now() - begun > kNameWaitMax) return taken;
    base::log_warn("name_in_use", {{"name", name}, {"waits_for", "its last report to be old"}});
    std::this_thread::sleep_for(kReportEvery);
  }
}

base::Result<std::unique_ptr<Presence>> Presence::open(const Options& options, storage::Store& store,
                                                       net::Loop& loop) {
  const auto data_dir = data_dir_id(options.data_dir);
  if (!data_dir) return data_dir.error();
  auto state = std::make_shared<State>(store);
  state->loop = &loop;
  state->own = {.id = base::Uuid::make(store.clock().wall()),
                .host = options.host,
                .data_dir = *data_dir,
                .version = MILLRACE_VERSION,
                .serves_api = options.serves_api,
                .calls_models = options.calls_models};
  const base::Status taken = take_name(options.host, [&]() -> base::Status {
    const auto sent_at = steady_clock::now();
    const auto found = wait_for<storage::Installation>(
        [&](auto done) { storage::Processes(store).report(state->own, std::move(done)); });
    if (!found) return found.error();
    state->apply_report(*found, sent_at);
    return {};
  });
  if (!taken) return taken.error();
  loop.post([state] { state->report_again(); });
  return std::unique_ptr<Presence>(new Presence(std::move(state)));
}

Presence::~Presence() { leave(); }

void Presence::set_runs_machines() {
  state_->runs_machines = true;
  state_->loop->post([state = state_] {
    if (!state->is_reporting) state->report_again();
  });
}

bool Presence::maintains() const { return steady_clock::now() < state_->maintains_until.load(); }

void Presence::on_model_processes(std::function<void(int)> changed) {
  const std::lock_guard lock(state_->mutex);
  if (changed) changed(state_->model_processes);
  state_->model_processes_changed = std::move(changed);
}

void Presence::leave() {
  {
    const std::lock_guard lock(state_->reporting);
    if (state_->stopped.exchange(true)) return;
  }
  on_model_processes({});
  auto left = std::make_shared<std::promise<void>>();
  auto done = left->get_future();
  storage::Processes(state_->store).leave(state_->own.id, [left](const base::Result<bool>&) {
    left->set_value();
  });
  done.wait_for(kLeaveMax);
}

void Presence::State::apply_report(const storage::Installation& found, steady_clock::time_point sent_at) {
  api_processes = found.api_processes;
  maintains_until = found.maintains ? sent_at + storage::kMaintenanceLease : steady_clock::time_point();
  const std::lock_guard lock(mutex);
  if (std::exchange(model_processes, found.model_processes) == found.model_processes) return;
  if (model_processes_changed) model_processes_changed(model_processes);
}

// At once if the last report is wrong: jobs of machines wait for it.
void Presence::State::report_again() {
  if (stopped) return;
  const bool is_changed = runs_machines != own.runs_machines;
  const std::chrono::milliseconds pause = is_changed ? std::chrono::milliseconds(0) : kReportEvery;
  timer = loop->after(pause, [self = shared_from_this()] { self->report(); });
}

// While the store does not answer, the last report counts until it is too old.
void Presence::State::report() {
  const std::lock_guard lock(reporting);
  if (stopped) return;
  is_reporting = true;
  own.runs_machines = runs_machines;
  storage::Processes(store).report(own, [self = shared_from_this(), sent_at = steady_clock::now()](
                                            const base::Result<storage::Installation>& found) {
    if (found) {
      self->apply_report(*found, sent_at);
    } else if (found.error().code == base::Code::kInvalidState && storage::claim_end()) {
      // It was silent for so long that another process took its name.
      storage::end_process("process_superseded", {{"error", found.error().message}});
    }
    if (self->stopped) return;
    self->loop->post([self] {
      self->is_reporting = false;
      self->report_again();
    });
  });
}

}  // namespace millrace::app
