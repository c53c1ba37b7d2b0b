#pragma once
#include <atomic>
#include <chrono>
#include <functional>
#include <memory>
#include <mutex>
#include <string>

#include "platform/base/ids.h"
#include "platform/base/result.h"
#include "platform/net/loop.h"
#include "storage/store.h"
#include "storage/workers/processes.h"

namespace millrace::app {

// Registers a name by `take`. While that fails with kInvalidState, since a process with this name has
// reported, it is repeated until the last report of a dead process would be too old. Blocks.
base::Status take_name(const std::string& name, const std::function<base::Status()>& take);

// Reports this process to the others of a store that several hosts share, every two seconds
// (storage::Processes). Without store.url there is none: one process per host does what lock files grant.
class Presence {
 public:
  struct Options {
    std::string data_dir;
    std::string host;
    bool serves_api = false, calls_models = false;
  };

  // Makes the first report. If another data directory uses the host's name, waits until it has been silent
  // for storage::kProcessTimeout. kInvalidState: it is still alive. Blocks. All must outlive this object.
  static base::Result<std::unique_ptr<Presence>> open(const Options& options, storage::Store& store,
                                                      net::Loop& loop);
  ~Presence();
  Presence(const Presence&) = delete;
  Presence& operator=(const Presence&) = delete;

  // This process runs the machines of its host from now on; reports it at once. Any thread.
  void set_runs_machines();
  // This host does the maintenance of the store, by a report that is not too old. Any thread.
  bool maintains() const;
  // Processes that serve the API, which share its limits; at least 1. Any thread.
  int api_processes() const { return state_->api_processes; }
  // `changed` gets the number of processes that call models, now and after each change, until it is replaced;
  // empty: nobody gets it. On the completion thread; it must not block.
  void on_model_processes(std::function<void(int)> changed);
  // Removes the rows of this process. Blocks. Idempotent.
  void leave();

 private:
  struct State : std::enable_shared_from_this<State> {
    explicit State(storage::Store& data) : store(data) {}
    storage::Store& store;
    storage::Process own;
    std::atomic<bool> runs_machines{false}, stopped{false};
    std::atomic<int> api_processes{1};
    std::mutex reporting;  // no report is written after the rows were removed
    std::mutex mutex;      // of the next two
    int model_processes = 1;
    std::function<void(int)> model_processes_changed;
    std::atomic<std::chrono::steady_clock::time_point> maintains_until{};
    net::Loop* loop = nullptr;
    net::Loop::Timer timer;  // this and the next: loop thread only
    bool is_reporting = false;

    void apply_report(const storage::Installation& found, std::chrono::steady_clock::time_point sent_at);
    void report();
    void report_again();
  };
  explicit Presence(std::shared_ptr<State> state) : state_(std::move(state)) {}

  std::shared_ptr<State> state_;
};

}  // namespace millrace::app
