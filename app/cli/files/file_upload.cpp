#include "app/cli/files/file_upload.h"

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <memory>

#include <fcntl.h>

#include "schemas/form_body.h"

namespace millrace::cli {
namespace {

constexpr std::size_t kUploadPieceBytes = std::size_t{1} << 20;

bool write_all(int to, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t written = ::write(to, bytes.data(), bytes.size());
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) return false;
    bytes.remove_prefix(static_cast<std::size_t>(written));
  }
  return true;
}

struct CloseStream {
  void operator()(std::FILE* file) const { static_cast<void>(std::fclose(file)); }
};

}  // namespace

base::Result<base::Fd> nameless_file() {
  const std::unique_ptr<std::FILE, CloseStream> file(std::tmpfile());
  base::Fd out(file ? ::fcntl(fileno(file.get()), F_DUPFD_CLOEXEC, 0) : -1);
  if (out) return out;
  return base::error(base::Code::kInternal, std::string("no temporary file: ") + std::strerror(errno));
}

base::Result<UploadForm> make_upload_form(const FileUpload& upload) {
  std::ifstream content(upload.path == "-" ? "/dev/stdin" : upload.path, std::ios::binary);
  if (!content) return base::error(base::Code::kNotFound, upload.path + ": " + std::strerror(errno));
  std::string head;
  schemas::FormBody fields(head);
  if (!upload.purpose.empty()) fields.field("purpose", upload.purpose);
  if (upload.expire_hours) fields.field("expiry", std::to_string(*upload.expire_hours));
  fields.file("file", upload.name);
  const std::size_t head_bytes = head.size();
  fields.end();
  auto body = nameless_file();
  if (!body) return body.error();
  bool is_good = write_all(body->get(), std::string_view(head).substr(0, head_bytes));
  std::string piece(kUploadPieceBytes, '\0');
  while (is_good && content) {
    content.read(piece.data(), static_cast<std::streamsize>(piece.size()));
    is_good =
        write_all(body->get(), std::string_view(piece).substr(0, static_cast<std::size_t>(content.gcount())));
  }
  if (content.bad()) return base::error(base::Code::kNotFound, upload.path + " cannot be read");
  if (!is_good || !write_all(body->get(), std::string_view(head).substr(head_bytes)))
    return base::error(base::Code::kInternal,
                       "no space for a copy of " + upload.path + " in the folder of temporary files");
  return UploadForm{.body = *std::move(body), .content_type = fields.content_type()};
}

Client::Response send_upload(Client& client, const UploadForm& form, const std::string& key) {
  Client::Headers more;
  if (!key.empty()) more.emplace_back("Idempotency-Key", key);
  return client.upload_form(kUploadPath, form.body.get(), form.content_type, std::move(more));
}

}  // namespace millrace::cli
