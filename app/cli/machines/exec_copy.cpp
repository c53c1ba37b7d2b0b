#include "app/cli/machines/exec_copy.h"

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <iostream>

#include <nlohmann/json.hpp>

#include "app/cli/interrupt.h"
#include "app/cli/json_cells.h"
#include "app/cli/machines/exec_stream.h"
#include "app/cli/machines/machine_choice.h"
#include "app/cli/partial_file.h"
#include "app/cli/program.h"
#include "schemas/jobs/job.h"

namespace millrace::cli {
using nlohmann::json;
namespace fs = std::filesystem;
namespace {

constexpr const char* kStandardOutput = "-";

bool is_folder(const std::string& path) {
  std::error_code unknown;
  return path.ends_with('/') || fs::is_directory(path, unknown);
}

// Why it is not a source: no colon, or no execution id before it.
std::string no_source(const std::string& text) {
  const std::size_t colon = text.find(':');
  if (colon == std::string::npos)
    return "\"" + text + "\" is not ID:NAME of an execution and its artifact (ID: for all of them)";
  return "\"" + text.substr(0, colon) + "\" is not the id of an execution: ids begin with exec-; `" +
         program() + " exec ls` lists them";
}

struct CopyTask {
  std::string id, name;  // of the artifact
};

// False: the next artifact would fail in the same way.
bool may_go_on(int exit_code) { return exit_code != kInterrupted && exit_code != kNoConnection; }

class Copier {
 public:
  Copier(Client& client, std::string machine, std::string to, bool into_folder)
      : client_(client), machine_(std::move(machine)), to_(std::move(to)), into_folder_(into_folder) {}

  int copy(const ArtifactSource& source) {
    const auto answer = client_.request("GET", machine_ + "/executions/" + percent_encoded(source.execution));
    if (!answer.ok) return fail(answer.error);
    std::vector<CopyTask> tasks;
    if (const int code = choose(source, *answer.json, tasks); code != kOk) return code;
    int first_failure = kOk;
    for (const CopyTask& each : tasks) {
      const int code = copy(each);
      if (first_failure == kOk) first_failure = code;
      if (!may_go_on(code)) break;
    }
    return first_failure;
  }

 private:
  static int choose(const ArtifactSource& source, const json& execution, std::vector<CopyTask>& tasks) {
    std::string names;
    for (const json& artifact : execution.value("artifacts", json::array())) {
      const std::string name = artifact.value("name", "");
      names += (names.empty() ? "" : ", ") + name;
      if (source.name.empty() || source.name == name)
        tasks.push_back({artifact.value("artifact_id", ""), name});
    }
    if (!tasks.empty()) return kOk;
    const std::string status = execution.value("status", "");
    if (!is_end(status)) {
      return fail(source.execution + " is " + status + ": its artifacts are available when it has ended",
                  kNotFound);
    }
    if (names.empty()) return fail(source.execution + " has no artifacts", kNotFound);
    return fail(source.execution + " has no artifact \"" + source.name + "\"; there are: " + names,
                kNotFound);
  }

  int copy(const CopyTask& task) {
    if (to_ == kStandardOutput) return print(task);
    auto file = into_folder_ ? PartialFile::below(to_, task.name) : PartialFile::at(to_);
    if (!file) return fail(file.error().message);
    bool written = true;
    auto answer = client_.download(content_of(task),
                                   [&](std::string_view bytes) { return written = file->write(bytes); });
    if (!answer.ok && written) return fail_with(task, std::move(answer.error));
    if (const base::Status finished = file->finish(); !finished) return fail(finished.error().message);
    if (client_.options().json) {
      const std::string path = into_folder_ ? (fs::path(to_) / task.name).string() : to_;
      std::cout << local_json({{"artifact_id", task.id}, {"name", task.name}, {"path", path}}) << '\n';
    }
    return kOk;
  }

  int print(const CopyTask& task) {
    bool written = true;
    const auto answer = client_.download(content_of(task), [&](std::string_view bytes) {
      return written = std::fwrite(bytes.data(), 1, bytes.size(), stdout) == bytes.size();
    });
    written = std::fflush(stdout) == 0 && written;
    if (!written) return fail("cannot write to standard output");
    return answer.ok ? kOk : fail(answer.error);
  }

  static int fail_with(const CopyTask& task, ClientError error) {
    error.message.insert(0, task.name + ": ");
    return fail(error);
  }

  std::string content_of(const CopyTask& task) const {
    return machine_ + "/artifacts/" + percent_encoded(task.id) + "/content";
  }

  Client& client_;
  std::string machine_;  // path of the machine in the API
  std::string to_;
  bool into_folder_;
};

}  // namespace

std::optional<ArtifactSource> artifact_source(const std::string& text) {
  const std::size_t colon = text.find(':');
  if (colon == std::string::npos) return std::nullopt;
  ArtifactSource source{text.substr(0, colon), text.substr(colon + 1)};
  const auto id = schemas::JobId::parse(source.execution);
  if (!id || id->kind != schemas::Kind::kExec) return std::nullopt;
  return source;
}

int exec_copy(const ExecCopyRequest& request, ClientOptions options) {
  if (request.paths.size() < 2) return fail_usage("`exec cp` needs ID:NAME and a destination, such as .");
  const std::string& to = request.paths.back();
  std::vector<ArtifactSource> sources;
  for (std::size_t i = 0; i + 1 < request.paths.size(); ++i) {
    auto source = artifact_source(request.paths[i]);
    if (!source) return fail_usage(no_source(request.paths[i]));
    sources.push_back(*std::move(source));
  }
  const bool several = sources.size() > 1 || sources.front().name.empty();
  if (several && to == kStandardOutput) return fail_usage("only one artifact can go to standard output");
  std::error_code unknown;
  if (several && fs::exists(to, unknown) && !is_folder(to)) return fail_usage(to + " is no folder");
  Interrupt interrupt;
  Client client(std::move(options), &interrupt);
  int first_failure = kOk;
  for (const ArtifactSource& source : sources) {
    const FoundMachine machine = find_execution(client, request.machine, source.execution);
    int code = machine.exit_code;
    if (code == kOk)
      code = Copier(client, "/v1/machines/" + machine.id, to, several || is_folder(to)).copy(source);
    if (first_failure == kOk) first_failure = code;
    if (!may_go_on(code)) break;
  }
  return first_failure;
}

}  // namespace millrace::cli
