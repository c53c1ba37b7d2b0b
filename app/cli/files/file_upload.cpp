#include "app/cli/files/file_upload.h"

#include "schemas/form_body.h"

namespace millrace::cli {

base::Result<UploadForm> make_upload_form(const UploadSource& source, const FileUpload& upload) {
  std::string text;
  schemas::FormBody fields(text);
  if (!upload.purpose.empty()) fields.field("purpose", upload.purpose);
  if (upload.expire_hours) fields.field("expiry", std::to_string(*upload.expire_hours));
  fields.file("file", upload.name);
  const std::size_t head_bytes = text.size();
  fields.end();
  auto form =
      source.form(0, source.bytes(), text.substr(0, head_bytes), std::string_view(text).substr(head_bytes));
  if (!form) return form.error();
  return UploadForm{.body = *std::move(form), .content_type = fields.content_type()};
}

base::Result<UploadForm> make_upload_form(const FileUpload& upload) {
  const auto source = UploadSource::open(upload.path);
  if (!source) return source.error();
  return make_upload_form(*source, upload);
}

Client::Response send_upload(Client& client, const UploadForm& form, const std::string& key) {
  Client::Headers more;
  if (!key.empty()) more.emplace_back("Idempotency-Key", key);
  return client.upload_form(kUploadPath, form.descriptor(), form.content_type, std::move(more));
}

}  // namespace millrace::cli
