#pragma once
#include <optional>
#include <string>

#include "app/cli/client.h"
#include "app/cli/files/upload_source.h"
#include "platform/base/result.h"

namespace millrace::cli {

// A local file to be stored by the gateway.
struct FileUpload {
  std::string path;     // "-": standard input
  std::string name;     // as the gateway shows it
  std::string purpose;  // empty: the gateway's default
  std::optional<int> expire_hours = {};
};

// The body of a POST to kUploadPath, in a file that has no name.
struct UploadForm {
  TemporaryFile body;
  std::string content_type;

  int descriptor() const { return fileno(body.get()); }
};

inline constexpr const char* kUploadPath = "/v1/files";

// Reads the whole file. kNotFound: it cannot be read. kInternal: the folder of temporary files is full.
base::Result<UploadForm> make_upload_form(const FileUpload& upload);
// The same of a file that is open already.
base::Result<UploadForm> make_upload_form(const UploadSource& source, const FileUpload& upload);

// Sends it. `key`: the Idempotency-Key; empty: none. The reply describes the stored file.
Client::Response send_upload(Client& client, const UploadForm& form, const std::string& key = {});

}  // namespace millrace::cli
