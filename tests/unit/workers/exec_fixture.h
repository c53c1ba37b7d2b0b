#pragma once
#include <atomic>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "schemas/machines/execution.h"
#include "storage/machines/machines.h"
#include "tests/unit/workers/worker_fixture.h"
#include "workers/exec/exec_run.h"

namespace millrace::workers {

inline constexpr auto kOut = schemas::OutputStream::kStdout;
inline constexpr auto kErr = schemas::OutputStream::kStderr;

// A command that a test simulates. It writes its output with `say`.
using Say = std::function<void(schemas::OutputStream stream, std::string_view bytes)>;
using Play = std::function<machines::CommandResult(const machines::CommandRequest& request,
                                                   const machines::CancelToken& stop, const Say& say)>;

inline machines::CommandResult ends(machines::CommandResult::How how, std::string message = {}) {
  machines::CommandResult end;
  end.how = how;
  end.message = std::move(message);
  return end;
}
inline machines::CommandResult exits(int code) {
  machines::CommandResult end = ends(machines::CommandResult::How::kExited);
  end.exit_code = code;
  return end;
}
// A file that a command has left.
machines::ArtifactFile left_file(std::string name, std::string_view bytes);
// Waits until the command is cancelled; false: it was not cancelled in time.
bool wait_for_stop(const machines::CancelToken& stop);

// A gate between the test and a simulated command.
class Gate {
 public:
  void open();
  bool pass();  // waits until it is open

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  bool open_ = false;
};

// A machine, and a worker that runs ExecRunner with a simulated command.
class ExecFixture {
 public:
  struct Options {
    WorkerFixture::Options fixture{.with_worker = false};
    int slots = 4;
    std::size_t output_max = std::size_t{1} << 20;
  };
  explicit ExecFixture(Play play) : ExecFixture(std::move(play), Options{}) {}
  ExecFixture(Play play, Options options);
  ExecFixture(RunCommand run, Options options);

  struct Requested {
    schemas::ExecutionSpec spec;
    schemas::Environment environment = {};
    std::string input = {};
    std::string sealed_with = {};  // default: sealed with the worker's key
    bool rerun_on_loss = false;
  };
  schemas::ExecutionSpec spec() const;
  schemas::JobId submit() { return submit({.spec = spec()}); }
  schemas::JobId submit(Requested wanted);
  bool reaches(const schemas::JobId& job, schemas::JobStatus status) { return fixture.reaches(job, status); }
  base::Result<schemas::JobView> cancel(const schemas::JobId& job);
  // Maintenance in another process declares the worker lost.
  int release_leases();

  std::vector<schemas::JobEvent> events(const schemas::JobId& job);
  std::string output(const schemas::JobId& job, std::string_view stream);
  std::optional<schemas::ExecutionResult> result(const schemas::JobId& job);
  // The names and bytes of the files that the command left.
  std::vector<std::pair<std::string, std::string>> artifacts(const schemas::JobId& job);

  const std::string secret_key = std::string(32, 'k');
  std::atomic<int> begun{0};
  WorkerFixture fixture;
  schemas::Machine machine;
};

}  // namespace millrace::workers
