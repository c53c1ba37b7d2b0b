#pragma once
#include <array>
#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include <tl/expected.hpp>

#include "schemas/error_body.h"
#include "schemas/machines/machine.h"

// Files below a machine's folder: /workspace, or the user's home (ssh). A file is copied into the machine,
// out of it, or deleted by an execution whose command is {name(action), path} (ExecutionSpec::file).
namespace millrace::schemas {

inline constexpr std::int64_t kMachineFileBytesMax = std::int64_t{100} << 20;  // as of an artifact
inline constexpr std::size_t kFilePathMax = 1024;                              // bytes
inline constexpr std::size_t kFilePathPartMax = 255;                           // bytes of each part of a path
// An execution that copies a file begins within this time, also on a machine that has to wake up first, and
// ends within the other after that.
inline constexpr std::chrono::milliseconds kFileStartMax{120'000};
inline constexpr std::chrono::milliseconds kFileTimeMax{600'000};

enum class FileAction : std::uint8_t { kPut, kGet, kDelete };
std::string_view name(FileAction action);  // "put", "get", "delete"
std::optional<FileAction> file_action_from(std::string_view name);

// The exit codes of the commands that copy and delete files. 0: it is done; a put that has made a new file
// then has one byte of output, else none. After a lost worker that is a guess: the attempt before may have
// made the file.
enum class FileExit : std::uint8_t {
  kLeadsOut = 70,  // a symbolic link leads out of the folder
  kAbsent = 71,
  kIsFolder = 72,
  kNotAFolder = 73,  // of a part of the path that is not the last
  kRefused = 74,     // the machine's user may not do that there
  kIncomplete = 75,  // it could not be written to its end
  kSpecial = 76,     // neither a file nor a folder
  kTooLarge = 77,
  kNotRead = 78,  // it could not be read to its end
  kCutOff = 79,   // of a put: not all of its bytes arrived on the machine
};
struct FileExitName {
  FileExit exit;
  std::string_view name;
};
inline constexpr std::array kFileExits{
    FileExitName{FileExit::kLeadsOut, "leads_out"}, FileExitName{FileExit::kAbsent, "absent"},
    FileExitName{FileExit::kIsFolder, "is_folder"}, FileExitName{FileExit::kNotAFolder, "not_a_folder"},
    FileExitName{FileExit::kRefused, "refused"},    FileExitName{FileExit::kIncomplete, "incomplete"},
    FileExitName{FileExit::kSpecial, "special"},    FileExitName{FileExit::kTooLarge, "too_large"},
    FileExitName{FileExit::kNotRead, "not_read"},   FileExitName{FileExit::kCutOff, "cut_off"},
};

// The path below the machine's folder, as sent by a client. `/workspace/` before it is accepted on a sandbox.
// kInvalidField with its problem: another absolute path; a NUL byte; an empty part, `.` or `..`; too long.
tl::expected<std::string, Refusal> machine_file_path(std::string_view sent, MachineDriver driver);

// The error for the client of an exit code; kCommandFailed for other codes.
base::Error file_error(FileAction action, int exit_code, std::string_view path);

// A file that was written, as JSON text.
std::string machine_file_json(std::string_view path, std::int64_t bytes, std::string_view sha256_hex);

}  // namespace millrace::schemas
