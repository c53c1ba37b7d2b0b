#include "workers/exec/file_command.h"

#include <utility>

#include "platform/base/bytes.h"
#include "schemas/machines/artifact.h"
#include "workers/exec/exec_request.h"

namespace millrace::workers {
namespace {

using schemas::FileAction;

// Its arguments are the path, the size of stdin or the largest size of a file, and the number of the attempt.
// The working directory stays below the first one; every other name is a single part of the path, after "./".
constexpr std::string_view kEnterSteps = R"sh(
LC_ALL=C; export LC_ALL
root=$(pwd -P); root=${root%/}; path=$1; size=$2; attempt=$3
inside() { case $1/ in "$root"/*) return 0;; esac; return 1; }
while :; do
  case $path in */*) part=${path%%/*}; path=${path#*/};; *) break;; esac
  if [ ! -d "./$part" ]; then
    [ -e "./$part" ] || [ -L "./$part" ] && exit $not_a_folder
    [ "$makes_folders" ] || exit $absent
    mkdir -- "./$part" 2>/dev/null || [ -d "./$part" ] || exit $refused
  fi
  cd -P -- "./$part" 2>/dev/null || exit $refused
  inside "$(pwd -P)" || exit $leads_out
done
file=./$path
)sh";

// Until it has the mode of the file that it replaces, nobody else may read the new one. A link that
// leads out of the folder lends no mode. The mode is taken without set-user-ID and the like.
// `stat` has the options of GNU or those of BSD.
constexpr std::string_view kPutSteps = R"sh(
[ -d "$file" ] && exit $is_folder
[ -e "$file" ] && [ ! -f "$file" ] && exit $special
new=x; [ -e "$file" ] || [ -L "$file" ] && new=
parts=./.millrace-put-$MILLRACE_EXECUTION_ID-; part=$parts$attempt
rm -f -- "$parts"* || exit $refused
trap 'rm -f -- "$part"' EXIT
trap 'exit $cut_off' HUP INT TERM
mask=$(umask); umask 077
true 2>/dev/null > "$part" || exit $refused
cat > "$part" || exit $incomplete
[ $(($(wc -c < "$part"))) -eq "$size" ] || exit $cut_off
like=$file
[ -L "$file" ] && ! inside "$(readlink -f -- "$file")" && like=
if [ -n "$like" ] && [ -f "$file" ]; then
  mode=00$(stat -L -c %a -- "$file" 2>/dev/null || stat -L -f %Lp -- "$file")
else
  mode=00$(printf %o $((0666 & ~0$mask)))
fi
chmod "${mode#"${mode%???}"}" "$part" || exit $refused
mv -f -- "$part" "$file" || exit $refused
printf %s "$new"
)sh";

constexpr std::string_view kGetSteps = R"sh(
[ -e "$file" ] || exit $absent
[ -d "$file" ] && exit $is_folder
[ -f "$file" ] || exit $special
if [ -L "$file" ]; then inside "$(readlink -f -- "$file")" ||
                                  exit $leads_out; fi
[ -r "$file" ] || exit $refused
[ $(($(wc -c < "$file"))) -le "$size" ] || exit $too_large
cat -- "$file" || exit $not_read
)sh";

// An earlier attempt may have deleted it.
constexpr std::string_view kDeleteSteps = R"sh(
if [ ! -e "$file" ] && [ ! -L "$file" ]; then
  [ "$attempt" -gt 1 ] && exit 0; exit $absent
fi
[ -d "$file" ] && [ ! -L "$file" ] && exit $is_folder
rm -f -- "$file" || exit $refused
)sh";

std::string_view steps_of(FileAction action) {
  switch (action) {
    case FileAction::kPut:
      return kPutSteps;
    case FileAction::kGet:
      return kGetSteps;
    case FileAction::kDelete:
      return kDeleteSteps;
  }
  return {};
}

std::string script_of(FileAction action) {
  std::string script;
  for (const schemas::FileExitName& each : schemas::kFileExits)
    script.append(each.name).append("=").append(std::to_string(static_cast<int>(each.exit))).append("\n");
  script.append("makes_folders=").append(action == FileAction::kPut ? "x" : "");
  return script.append(kEnterSteps).append(steps_of(action));
}

}  // namespace

std::vector<std::string> file_command(FileAction action, const std::string& path, std::int64_t bytes,
                                      int attempt) {
  const std::int64_t size = action == FileAction::kPut ? bytes : schemas::kMachineFileBytesMax;
  return {"sh", "-c", script_of(action), "millrace", path, std::to_string(size), std::to_string(attempt)};
}

bool ReceivedFile::add(std::string_view bytes) {
  if (problem_) return false;
  const base::Status added = append(bytes);
  if (!added) problem_ = added.error();
  return added.has_value();
}

base::Status ReceivedFile::append(std::string_view bytes) {
  if (!writer_) {
    auto begun = store_.blobs().begin(0);
    if (!begun) return begun.error();
    writer_ = std::move(*begun);
  }
  const std::int64_t total = writer_->bytes() + static_cast<std::int64_t>(bytes.size());
  if (total > schemas::kMachineFileBytesMax)
    return base::error(base::Code::kTooLarge, "the file is larger than " +
                                                  base::format_bytes(schemas::kMachineFileBytesMax) +
                                                  ", the largest file that can be copied");
  if (total > bytes_left_)
    return base::error(base::Code::kQuotaFull, std::string(schemas::kStoredBytesReached));
  return writer_->append(bytes);
}

base::Result<storage::JobOutcomes::NewArtifact> ReceivedFile::finish(std::string name,
                                                                     const machines::CancelToken& stop) {
  add({});  // of an empty file, the first bytes
  if (problem_) return *problem_;
  const auto writer = std::exchange(writer_, nullptr);
  auto staged = finish_blob(*writer, stop);
  if (!staged) return staged.error();
  return storage::JobOutcomes::NewArtifact{.id = base::Uuid::make(store_.clock().wall()),
                                           .name = name,
                                           .mime_type = std::string(schemas::mime_type_of(name)),
                                           .content = *std::move(staged)};
}

}  // namespace millrace::workers
