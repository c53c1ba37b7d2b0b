#include "api/files/file_input.h"

#include <algorithm>
#include <utility>

#include <unistd.h>

#include "platform/base/bytes.h"
#include "storage/files/files.h"

namespace millrace::api {
namespace {

// The first bytes of the file, all of it if it is shorter.
base::Result<std::string> head_of_file(Context& context, const Call& call, const base::Uuid& id,
                                       std::size_t size) {
  const auto content = storage::Files(context.store).open(call.tenant(), id);
  if (!content) return content.error();
  std::string head(size, '\0');
  const ssize_t got = ::pread(content->fd(), head.data(), head.size(), 0);
  head.resize(static_cast<std::size_t>(std::max<ssize_t>(got, 0)));
  return head;
}

}  // namespace

base::Result<schemas::StoredFile> file_input(Context& context, const Call& call, const base::Uuid& id,
                                             const FileRules& rules, std::string_view param) {
  const auto refused = [&](base::Error error) {
    error.param = param;
    return error;
  };
  if (!call.principal->scopes.allows(schemas::Scope::kFilesRead))
    return refused(scope_error(*call.principal, schemas::Scope::kFilesRead));
  auto file = storage::Files(context.store).file(call.tenant(), id);
  if (!file) return refused(file.error());
  if (file->bytes > rules.bytes_max)
    return refused(
        base::error(rules.too_large, "The file is larger than " + base::format_bytes(rules.bytes_max) +
                                         ", the largest allowed size of a " + std::string(rules.subject)));
  const auto head = head_of_file(context, call, id, rules.head_bytes);
  if (!head) return refused(head.error());
  if (auto good = rules.check_head(*head); !good) return refused(good.error());
  return file;
}

bool may_be_repeat(const base::Error& error, const storage::Submission& submission) {
  return error.code == base::Code::kNotFound && submission.idempotency.has_value();
}

}  // namespace millrace::api
