#include "app/cli/machines/exec_copy.h"

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <filesystem>
#include <functional>
#include <map>
#include <optional>
#include <utility>
#include <variant>

#include <nlohmann/json.hpp>

#include "app/cli/cut_off.h"
#include "app/cli/interrupt.h"
#include "app/cli/json_cells.h"
#include "app/cli/machines/exec_stream.h"
#include "app/cli/machines/machine_choice.h"
#include "app/cli/partial_file.h"
#include "app/cli/program.h"
#include "app/cli/whole_file.h"
#include "platform/base/bytes.h"
#include "schemas/jobs/job.h"
#include "schemas/machines/machine_file.h"

namespace millrace::cli {
using nlohmann::json;
namespace fs = std::filesystem;
namespace {

constexpr const char* kStandardOutput = "-";

bool is_folder(const std::string& path) {
  std::error_code unknown;
  return path.ends_with('/') || fs::is_directory(path, unknown);
}

// Why it is not a source: no colon, no execution id before it, or no file after it.
std::string no_source(const std::string& text) {
  const std::size_t colon = text.find(':');
  if (colon == std::string::npos)
    return "\"" + text +
           "\" is neither ID:NAME of an execution and its artifact (ID: for all of them) nor MACHINE:PATH; a "
           "file "
           "of this computer needs MACHINE:PATH as its destination";
  return "\"" + text.substr(0, colon) + "\" is not the id of an execution: ids begin with exec-; `" +
         program() + " exec ls` lists them; a file of a machine is MACHINE:PATH";
}

// Where files are written.
struct Destination {
  std::string path;  // "-": standard output
  bool is_folder = false;
};

// A file to write, and what --json shows about it besides its name and path.
struct SavedFile {
  std::string name;  // below a folder
  json shown;
};

using Download = std::function<Client::Response(const Client::OnBytes& take)>;

// `left`: what is true of the file if our side was cut off.
int fail_with(const Client& client, const std::string& name, const char* left, ClientError error) {
  const auto cut_off = client.interrupt() == nullptr ? std::nullopt : cut_off_by(*client.interrupt());
  if (error.exit_code == kInterrupted && cut_off) return fail_cut_off(*cut_off, name + left);
  error.message.insert(0, name + ": ");
  return fail(error);
}

constexpr const char* kNotCopied = " was not copied";
constexpr const char* kMayBeCopied = " may or may not have been copied: copy it again";

int print(const Client& client, const std::string& name, const Download& download) {
  std::optional<CutOff> cut_off;
  const auto answer = download([&](std::string_view bytes) {
    cut_off = print_whole(bytes);
    return !cut_off;
  });
  if (cut_off) return fail_cut_off(*cut_off, name + kNotCopied);
  return answer.ok ? kOk : fail_with(client, name, kNotCopied, answer.error);
}

int save(const Client& client, const Destination& to, SavedFile saved, const Download& download) {
  if (to.path == kStandardOutput) return print(client, saved.name, download);
  auto file = to.is_folder ? PartialFile::below(to.path, saved.name) : PartialFile::at(to.path);
  if (!file) return fail(file.error().message);
  bool written = true;
  auto answer = download([&](std::string_view bytes) { return written = file->write(bytes); });
  if (!answer.ok && written) return fail_with(client, saved.name, kNotCopied, std::move(answer.error));
  if (const base::Status finished = file->finish(); !finished) return fail(finished.error().message);
  if (client.options().json) {
    saved.shown["name"] = saved.name;
    saved.shown["path"] = to.is_folder ? (fs::path(to.path) / saved.name).string() : to.path;
    if (const auto cut_off = print_whole(local_json(saved.shown) + '\n')) return fail_cut_off(*cut_off);
  }
  return kOk;
}

// A file that is going to be written.
struct PlannedCopy {
  std::string source;  // as on the command line; of an execution with its artifact
  SavedFile saved;
  std::string path;  // of its content in the API
  bool waits;        // a file of a machine: an execution reads it first
};

// False: the next artifact would fail in the same way.
bool may_go_on(int exit_code) {
  return exit_code != kInterrupted && exit_code != kNoConnection && exit_code != kHungUp &&
         exit_code != kPipeClosed;
}

// Adds the artifacts that `source` names.
int choose(const ArtifactSource& source, const json& execution, const std::string& machine,
           std::vector<PlannedCopy>& plan) {
  std::string names;
  const std::size_t before = plan.size();
  for (const json& artifact : execution.value("artifacts", json::array())) {
    const std::string name = artifact.value("name", ""), id = artifact.value("artifact_id", "");
    names += (names.empty() ? "" : ", ") + name;
    if (!source.name.empty() && source.name != name) continue;
    plan.push_back({source.execution + ":" + name,
                    {name, {{"artifact_id", id}}},
                    machine + "/artifacts/" + percent_encoded(id) + "/content",
                    false});
  }
  if (plan.size() > before) return kOk;
  const std::string status = execution.value("status", "");
  if (!is_end(status)) {
    return fail(source.execution + " is " + status + ": its artifacts are available when it has ended",
                kNotFound);
  }
  if (names.empty()) return fail(source.execution + " has no artifacts", kNotFound);
  return fail(source.execution + " has no artifact \"" + source.name + "\"; there are: " + names, kNotFound);
}

}  // namespace

std::optional<ArtifactSource> artifact_source(const std::string& text) {
  const std::size_t colon = text.find(':');
  if (colon == std::string::npos) return std::nullopt;
  ArtifactSource source{text.substr(0, colon), text.substr(colon + 1)};
  const auto id = schemas::JobId::parse(source.execution);
  if (!id || id->kind != schemas::Kind::kExec) return std::nullopt;
  return source;
}

namespace {

std::string last_part(const std::string& path) { return path.substr(path.rfind('/') + 1); }

std::string file_path(const FoundMachine& machine, std::string_view path) {
  std::string out = "/v1/machines/" + machine.id + "/files/";
  for (std::size_t at = 0; at <= path.size();) {
    const std::size_t slash = std::min(path.find('/', at), path.size());
    out += percent_encoded(path.substr(at, slash - at));
    if (slash < path.size()) out += '/';
    at = slash + 1;
  }
  return out;
}

int plan_artifacts(Client& client, const std::string& machine_option, const ArtifactSource& source,
                   std::vector<PlannedCopy>& plan) {
  const FoundMachine machine = find_execution(client, machine_option, source.execution);
  if (machine.exit_code != kOk) return machine.exit_code;
  const std::string path = "/v1/machines/" + machine.id;
  const auto answer = client.request("GET", path + "/executions/" + percent_encoded(source.execution));
  return answer.ok ? choose(source, *answer.json, path, plan) : fail(answer.error);
}

int plan_file(Client& client, const MachinePath& source, std::vector<PlannedCopy>& plan) {
  const FoundMachine machine = find_machine(client, source.machine);
  if (machine.exit_code != kOk) return machine.exit_code;
  plan.push_back({source.machine + ":" + source.path,
                  {last_part(source.path), {{"machine_id", machine.id}}},
                  file_path(machine, source.path),
                  true});
  return kOk;
}

int copy_out(Client& client, const PlannedCopy& file, const Destination& to) {
  return save(client, to, file.saved, [&](const Client::OnBytes& take) {
    return file.waits ? client.wait_and_download(file.path, take) : client.download(file.path, take);
  });
}

// Where a source would be written, with the source.
using Target = std::pair<std::string, std::string>;

// Refuses sources of which one would overwrite the other. nullopt: there are none.
std::optional<int> refuse_same_target(const std::vector<Target>& targets) {
  std::map<std::string, std::string> sources;
  for (const auto& [target, source] : targets) {
    const auto [other, is_new] = sources.emplace(target, source);
    if (!is_new)
      return fail_usage(other->second + " and " + source + " would both be written to " + target +
                        ": copy one of them to another name");
  }
  return std::nullopt;
}

int copy_in(Client& client, const FoundMachine& machine, const std::string& file, const std::string& path) {
  std::error_code unknown;
  if (fs::is_directory(file, unknown))
    return fail(file + " is a folder: copy its files, or an archive of it");
  const base::Error too_large = base::error(
      base::Code::kTooLarge, "the file is larger than " + base::format_bytes(schemas::kMachineFileBytesMax) +
                                 ", the largest file that can be copied into a machine");
  auto bytes = read_whole(file == kStandardOutput ? "/dev/stdin" : file,
                          static_cast<std::size_t>(schemas::kMachineFileBytesMax), too_large);
  if (!bytes) return interrupt_waits() ? int{kInterrupted} : fail(file + ": " + bytes.error().message);
  const auto answer = client.upload_and_wait(file_path(machine, path), *std::move(bytes));
  if (!answer.ok) return fail_with(client, file, kMayBeCopied, answer.error);
  if (!client.options().json) return kOk;
  const auto cut_off = print_whole(local_json(*answer.json) + '\n');
  return cut_off ? fail_cut_off(*cut_off) : int{kOk};
}

// Calls `copy` for each source, until a failure that the next one would share. Returns the first failure.
template <class Source, class Copy>
int for_each(const std::vector<Source>& sources, const Copy& copy) {
  int first_failure = kOk;
  for (const Source& source : sources) {
    const int code = copy(source);
    if (first_failure == kOk) first_failure = code;
    if (!may_go_on(code)) break;
  }
  return first_failure;
}

int copy_all_in(Client& client, const std::vector<std::string>& files, const MachinePath& to) {
  const bool into_folder = to.path.empty() || to.path.ends_with('/');
  if (files.size() > 1 && !into_folder)
    return fail_usage("several files need a folder: " + to.machine + ":" + to.path + "/");
  for (const std::string& file : files) {
    if (path_in_machine(file)) return fail_usage("`exec cp` copies between this computer and a machine");
    if (into_folder && file == kStandardOutput)
      return fail_usage("standard input needs a name in the machine");
  }
  std::vector<Target> targets;
  targets.reserve(files.size());
  for (const std::string& file : files)
    targets.emplace_back(to.machine + ":" + to.path + (into_folder ? last_part(file) : ""), file);
  if (const auto refused = refuse_same_target(targets)) return *refused;
  const FoundMachine machine = find_machine(client, to.machine);
  if (machine.exit_code != kOk) return machine.exit_code;
  return for_each(files, [&](const std::string& file) {
    return copy_in(client, machine, file, into_folder ? to.path + last_part(file) : to.path);
  });
}

using CopySource = std::variant<ArtifactSource, MachinePath>;

std::optional<CopySource> copy_source(const std::string& text) {
  if (auto artifact = artifact_source(text)) return *std::move(artifact);
  auto path = path_in_machine(text);
  if (!path || path->path.empty() || path->path.ends_with('/')) return std::nullopt;
  return *std::move(path);
}

bool is_several(const CopySource& source) {
  const auto* artifact = std::get_if<ArtifactSource>(&source);
  return artifact != nullptr && artifact->name.empty();
}

}  // namespace

std::optional<MachinePath> path_in_machine(const std::string& text) {
  const std::size_t colon = text.find(':');
  if (colon == 0 || colon == std::string::npos || text.find('/') < colon) return std::nullopt;
  return MachinePath{text.substr(0, colon), text.substr(colon + 1)};
}

namespace {

int copy_all(const ExecCopyRequest& request, Client& client) {
  if (request.paths.size() < 2)
    return fail_usage("`exec cp` needs EXECUTION:NAME, MACHINE:PATH or a file, and a destination, such as .");
  const std::string& to = request.paths.back();
  const std::vector<std::string> from(request.paths.begin(), request.paths.end() - 1);
  if (const auto machine = path_in_machine(to)) return copy_all_in(client, from, *machine);
  std::vector<CopySource> sources;
  for (const std::string& text : from) {
    auto source = copy_source(text);
    if (!source) return fail_usage(no_source(text));
    sources.push_back(*std::move(source));
  }
  const bool several = sources.size() > 1 || is_several(sources.front());
  if (several && to == kStandardOutput) return fail_usage("only one file can go to standard output");
  std::error_code unknown;
  if (several && fs::exists(to, unknown) && !is_folder(to)) return fail_usage(to + " is no folder");
  const Destination destination{to, several || is_folder(to)};
  std::vector<PlannedCopy> plan;
  const int planned = for_each(sources, [&](const CopySource& source) {
    if (const auto* path = std::get_if<MachinePath>(&source)) return plan_file(client, *path, plan);
    return plan_artifacts(client, request.machine, std::get<ArtifactSource>(source), plan);
  });
  if (!may_go_on(planned)) return planned;
  std::vector<Target> targets;
  targets.reserve(plan.size());
  for (const PlannedCopy& each : plan)
    targets.emplace_back((fs::path(to) / each.saved.name).string(), each.source);
  if (const auto refused = refuse_same_target(targets)) return *refused;
  const int copied =
      for_each(plan, [&](const PlannedCopy& file) { return copy_out(client, file, destination); });
  return planned == kOk ? copied : planned;
}

}  // namespace

int exec_copy(const ExecCopyRequest& request, ClientOptions options) {
  Interrupt interrupt(kCutOff);
  Client client(std::move(options), &interrupt);
  const int code = copy_all(request, client);
  if (code != kInterrupted) return code;
  if (interrupt.last() == 0) interrupt.wait(std::chrono::milliseconds(0));
  const auto cut_off = cut_off_by(interrupt);
  return cut_off ? fail_cut_off(*cut_off, "nothing more is copied") : code;
}

}  // namespace millrace::cli
