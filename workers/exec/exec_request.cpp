#include "workers/exec/exec_request.h"

#include <array>
#include <cerrno>
#include <chrono>
#include <string_view>
#include <utility>

#include <fcntl.h>
#include <poll.h>
#include <unistd.h>

#include "platform/base/crypto.h"
#include "schemas/machines/artifact.h"
#include "storage/jobs/job_queries.h"
#include "storage/machines/machines.h"
#include "storage/tenants/tenants.h"
#include "workers/exec/file_command.h"
#include "workers/payload.h"

namespace millrace::workers {
namespace {

constexpr std::size_t kPiece = 64 * 1024;
constexpr std::chrono::milliseconds kSendAgainDelay{1'000};

ssize_t read_piece(int fd, std::array<char, kPiece>& piece) {
  ssize_t got = 0;
  do {
    got = ::read(fd, piece.data(), piece.size());
  } while (got < 0 && errno == EINTR);
  return got;
}

// After a kill request it returns an error, which the caller ignores.
base::Result<storage::Staged> copy(storage::Blobs& blobs, const machines::ArtifactFile& file,
                                   const machines::CancelToken& stop, bool may_wait) {
  auto writer = blobs.begin(file.bytes);
  if (!writer) return writer.error();
  std::array<char, kPiece> piece;
  for (ssize_t got = 0; (got = read_piece(file.content.get(), piece)) != 0;) {
    if (got < 0 || stop.killed())
      return base::error(base::Code::kHostAgentFailed, "the file could not be read");
    const auto bytes = static_cast<std::size_t>(got);
    if ((*writer)->bytes() + got > schemas::kArtifactBytesMax) {
      return base::error(base::Code::kTooLarge, "the file grew above 100 MiB");
    }
    if (auto written = (*writer)->append({piece.data(), bytes}); !written) return written.error();
  }
  return may_wait ? finish_blob(**writer, stop) : (*writer)->finish();
}

// Counts the files that were not kept, with the reason for the first one.
class SkippedFiles {
 public:
  void add(std::string_view why) {
    if (count_++ == 0) why_ = why;
  }
  std::string note(const std::string& before) const {
    if (count_ == 0) return before;
    return (before.empty() ? "" : before + "; ") + schemas::files_not_kept(count_, why_);
  }

 private:
  int count_ = 0;
  std::string why_;
};

}  // namespace

std::int64_t stored_bytes_left(storage::Store& store, const std::string& execution) {
  const auto job = schemas::JobId::parse(execution);
  return job ? storage::Tenants(store).bytes_left(*job).value_or(schemas::kUnlimited) : schemas::kUnlimited;
}

base::Result<storage::Staged> finish_blob(storage::BlobWriter& writer, const machines::CancelToken& stop) {
  for (;;) {
    auto staged = writer.finish();
    if (staged || !writer.may_finish_again() || stop.killed()) return staged;
    pollfd stopped{stop.fd(), POLLIN, 0};
    if (::poll(&stopped, 1, static_cast<int>(kSendAgainDelay.count())) > 0) return staged;
  }
}

StagedArtifacts stage_artifacts(storage::Store& store, const std::string& execution,
                                machines::CommandResult& end, const machines::CancelToken& stop) {
  StagedArtifacts staged_artifacts;
  SkippedFiles skipped_files;
  const bool may_wait = end.how != machines::CommandResult::How::kStopped;
  std::int64_t bytes_left = stored_bytes_left(store, execution);
  for (machines::ArtifactFile& file : std::exchange(end.artifacts, {})) {
    if (stop.killed()) break;
    if (staged_artifacts.files.size() == schemas::kArtifactsMax) {
      skipped_files.add("an execution keeps " + std::to_string(schemas::kArtifactsMax));
      continue;
    }
    if (file.bytes > bytes_left) {
      skipped_files.add(schemas::kStoredBytesReached);
      continue;
    }
    auto staged = copy(store.blobs(), file, stop, may_wait);
    if (!staged) {
      skipped_files.add(staged.error().message);
      continue;
    }
    bytes_left -= (*staged)->ref().bytes;
    staged_artifacts.files.push_back({.id = base::Uuid::make(store.clock().wall()),
                                      .name = file.name,
                                      .mime_type = std::string(schemas::mime_type_of(file.name)),
                                      .content = *std::move(staged)});
  }
  staged_artifacts.note = skipped_files.note(end.artifacts_note);
  return staged_artifacts;
}

namespace {

using base::Code;

constexpr std::string_view kExecutionName = "MILLRACE_EXECUTION_ID";
constexpr std::string_view kMachineName = "MILLRACE_MACHINE_ID";

base::Result<schemas::ExecutionSpec> spec_of(storage::Store& store, const storage::ClaimedJob& job) {
  auto text = read_payload(store.blobs(), {job.spec, job.spec_blob});
  if (!text) return text.error();
  auto spec = schemas::execution_spec_from_json(*text);
  if (!spec) return base::error(Code::kHostAgentFailed, "the job's stored spec cannot be read");
  return spec;
}

// Error messages contain nothing of the encrypted environment.
base::Result<schemas::Environment> environment_of(storage::Store& store, const storage::ClaimedJob& job,
                                                  const std::string& secret_key) {
  const auto sealed = storage::JobQueries(store).secret(job.lease.job);
  if (!sealed) return sealed.error();
  if (sealed->empty()) return schemas::Environment();
  const auto json = base::unseal(secret_key, job.lease.job.str(), *sealed);
  if (!json) {
    return base::error(Code::kHostAgentFailed,
                       "the command's environment cannot be decrypted: the gateway's secret key has changed");
  }
  auto environment = schemas::environment_from_json(*json);
  if (!environment) return base::error(Code::kHostAgentFailed, "the command's environment cannot be read");
  return environment;
}

base::Result<schemas::Machine> machine_of(storage::Store& store, const storage::ClaimedJob& job,
                                          const base::Uuid& id) {
  auto machine = storage::Machines(store).machine(job.tenant, id);
  const bool missing = machine ? machine->desired == schemas::MachineState::kDestroyed
                               : machine.error().code == Code::kNotFound;
  if (missing) return base::error(Code::kMachineNotFound, "the machine does not exist any more");
  return machine;
}

// `as_file`: the input may be too large for memory.
base::Status read_input(storage::Store& store, const storage::ClaimedJob& job, bool as_file,
                        machines::CommandRequest& request) {
  if (!job.input) return {};
  if (!as_file) {
    auto bytes = store.blobs().read(*job.input);
    if (!bytes) return bytes.error();
    request.input = *std::move(bytes);
    return {};
  }
  const auto file = store.blobs().open(*job.input);
  if (!file) return file.error();
  base::Fd copy(::fcntl(file->fd(), F_DUPFD_CLOEXEC, 0));
  if (!copy) return base::error(Code::kOverloaded, "no file descriptor is left: raise `ulimit -n`");
  request.input_file = std::make_shared<const base::Fd>(std::move(copy));
  return {};
}

void make_file_command(schemas::FileAction action, const storage::ClaimedJob& job,
                       PreparedCommand& prepared) {
  const std::string path = prepared.request.command.back();
  const std::int64_t bytes = job.input ? job.input->bytes : 0;
  prepared.request.command = file_command(action, path, bytes, job.lease.attempt);
  if (action == schemas::FileAction::kGet) prepared.output_file = path.substr(path.rfind('/') + 1);
}

// Sets the gateway's variables; they replace variables of the request with the same name.
void set_gateway_variables(schemas::Environment& environment, const storage::ClaimedJob& job,
                           const base::Uuid& machine) {
  std::erase_if(environment, [](const auto& variable) {
    return variable.first == kExecutionName || variable.first == kMachineName;
  });
  environment.emplace_back(kExecutionName, job.lease.job.str());
  environment.emplace_back(kMachineName, schemas::machine_id(machine));
}

}  // namespace

base::Result<PreparedCommand> prepared_command(storage::Store& store, const storage::ClaimedJob& job,
                                               const std::string& secret_key) {
  auto spec = spec_of(store, job);
  if (!spec) return spec.error();
  auto machine = machine_of(store, job, spec->machine);
  if (!machine) return machine.error();
  PreparedCommand prepared;
  machines::CommandRequest& request = prepared.request;
  if (auto read = read_input(store, job, spec->file.has_value(), request); !read) return read.error();
  auto environment = environment_of(store, job, secret_key);
  if (!environment) return environment.error();
  set_gateway_variables(*environment, job, machine->id);
  request.machine = *std::move(machine);
  request.execution = job.lease.job.str();
  request.command = std::move(spec->command);
  request.cwd = std::move(spec->cwd);
  request.environment = std::move(*environment);
  request.timeout = spec->timeout;
  if (spec->file) make_file_command(*spec->file, job, prepared);
  return prepared;
}

}  // namespace millrace::workers
