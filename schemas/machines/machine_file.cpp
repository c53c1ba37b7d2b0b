#include "schemas/machines/machine_file.h"

#include <algorithm>

#include "platform/base/bytes.h"
#include "schemas/json/json_text.h"

namespace millrace::schemas {
namespace {

using base::Code;

constexpr std::string_view kSandboxFolder = "/workspace/";
constexpr std::string_view kPathParam = "path";

struct ActionName {
  FileAction action;
  std::string_view name;
};
constexpr std::array kActions{ActionName{FileAction::kPut, "put"}, ActionName{FileAction::kGet, "get"},
                              ActionName{FileAction::kDelete, "delete"}};

auto bad_path(std::string message) {
  return tl::make_unexpected(invalid({{.loc = {"path", std::string(kPathParam)},
                                       .msg = std::move(message),
                                       .type = "value_error",
                                       .input = {},
                                       .ctx = {}}}));
}

std::string too_long(std::string_view what, std::size_t most) {
  return std::string(what) + " should have at most " + std::to_string(most) + " bytes";
}

// Why the path is not accepted; empty: it is.
std::string problem_of(std::string_view path) {
  if (path.find('\0') != std::string_view::npos) return "The path may not contain a NUL byte";
  if (path.size() > kFilePathMax) return too_long("The path", kFilePathMax);
  if (path.empty() || path.ends_with('/')) return "The path should name a file, not a folder";
  while (!path.empty()) {
    const std::size_t slash = std::min(path.find('/'), path.size());
    const std::string_view part = path.substr(0, slash);
    if (part.empty() || part == "." || part == "..")
      return "The path may not have an empty part, `.` or `..`: it begins at the machine's folder";
    if (part.size() > kFilePathPartMax) return too_long("Each part of the path", kFilePathPartMax);
    path.remove_prefix(std::min(slash + 1, path.size()));
  }
  return {};
}

}  // namespace

std::string_view name(FileAction action) {
  return std::ranges::find(kActions, action, &ActionName::action)->name;
}

std::optional<FileAction> file_action_from(std::string_view name) {
  const auto found = std::ranges::find(kActions, name, &ActionName::name);
  if (found == kActions.end()) return std::nullopt;
  return found->action;
}

tl::expected<std::string, Refusal> machine_file_path(std::string_view sent, MachineDriver driver) {
  const bool sandbox = driver == MachineDriver::kSandbox;
  if (sandbox && sent.starts_with(kSandboxFolder)) sent.remove_prefix(kSandboxFolder.size());
  if (sent.starts_with('/'))
    return bad_path(sandbox
                        ? "The path should be below /workspace: the other folders of a sandbox do not last"
                        : "The path begins at the home of the machine's user, without a slash");
  if (std::string problem = problem_of(sent); !problem.empty()) return bad_path(std::move(problem));
  return std::string(sent);
}

base::Error file_error(FileAction action, int exit_code, std::string_view path) {
  const auto error = [path](Code code, std::string_view rest) {
    return base::error(code, "`" + std::string(path) + "` " + std::string(rest), std::string(kPathParam));
  };
  const auto found = std::ranges::find_if(
      kFileExits, [exit_code](const FileExitName& each) { return static_cast<int>(each.exit) == exit_code; });
  if (found == kFileExits.end())
    return base::error(Code::kCommandFailed, "the machine's shell or its programs failed with exit code " +
                                                 std::to_string(exit_code));
  switch (found->exit) {
    case FileExit::kLeadsOut:
      return error(Code::kInvalidState, "leads out of the machine's folder by a symbolic link");
    case FileExit::kAbsent:
      return error(Code::kNotFound, "does not exist on this machine");
    case FileExit::kIsFolder:
      return error(Code::kInvalidState, "is a folder");
    case FileExit::kNotAFolder:
      return error(Code::kInvalidState, "goes through something that is not a folder");
    case FileExit::kRefused:
      return error(Code::kInvalidState, action == FileAction::kGet
                                            ? "cannot be read: the machine's user may not read there"
                                            : "cannot be changed: the machine's user may not write there");
    case FileExit::kIncomplete:
      return error(Code::kQuotaFull,
                   "could not be written to its end: the machine's disk is full (storage_gib) or fails");
    case FileExit::kSpecial:
      return error(Code::kInvalidState, "is not a regular file");
    case FileExit::kTooLarge:
      return error(Code::kTooLarge, "is larger than " + base::format_bytes(kMachineFileBytesMax) +
                                        ", the largest file that can be copied");
    case FileExit::kNotRead:
      return error(Code::kInvalidState,
                   "could not be read to its end: it changed, or the machine's disk fails");
    case FileExit::kCutOff:
      return error(Code::kMachineNotRoutable,
                   "was not written: the machine did not receive all of its bytes");
  }
  return error(Code::kInternal, "");
}

std::string machine_file_json(std::string_view path, std::int64_t bytes, std::string_view sha256_hex) {
  return JsonObject().member("path", path).number("size_bytes", bytes).member("sha256", sha256_hex).finish();
}

}  // namespace millrace::schemas
