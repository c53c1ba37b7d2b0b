#include "api/media/image_files.h"

#include <algorithm>
#include <utility>

#include <unistd.h>

#include "api/media/file_stream.h"
#include "api/media/signed_url.h"
#include "platform/base/base64.h"
#include "platform/base/crypto.h"
#include "schemas/media/document_type.h"
#include "storage/blobs/blobs.h"
#include "storage/blobs/image_files.h"

namespace millrace::api {
namespace {

base::Result<storage::Staged> staged_image(storage::Blobs& blobs, const std::string& base64) {
  const auto bytes = base::base64_decode(base64);
  if (!bytes)
    return base::error(base::Code::kUpstream, "The provider returned an image that is not valid base64");
  return storage::stage(blobs, *bytes);
}

std::string media_type(const storage::OpenFile& file) {
  std::string head(schemas::kMediaHeadBytes, '\0');
  const ssize_t got = ::pread(file.fd(), head.data(), head.size(), 0);
  head.resize(static_cast<std::size_t>(std::max<ssize_t>(got, 0)));
  const auto media = schemas::detect_media(head);
  return std::string(media ? schemas::mime(*media) : "application/octet-stream");
}

}  // namespace

std::string image_path(const base::Uuid& id, base::WallTime expires, std::string_view secret_key) {
  return "/v1/images/files/" + id.str() + "?" + signed_query(SignedThing::kImage, id, expires, secret_key);
}

void keep_images(Context& context, const Call& call, std::shared_ptr<schemas::ImageReply> reply,
                 std::function<void(base::Status)> done) {
  const base::WallTime expires = context.clock.wall() + kImageUrlLife;
  const std::string base = public_base(context, call);
  std::vector<storage::ImageFile> files;
  for (schemas::Image& image : reply->images) {
    if (image.b64_json.empty()) continue;
    auto bytes = staged_image(context.store.blobs(), image.b64_json);
    if (!bytes) return done(bytes.error());
    files.push_back({base::Uuid::make(context.clock.wall()), *std::move(bytes)});
    image.url = base + image_path(files.back().id, expires, context.secret_key);
    image.b64_json.clear();
  }
  storage::ImageFiles(context.store)
      .add(call.principal->tenant, std::move(files), expires,
           [reply, done = std::move(done)](const base::Result<bool>& kept) {
             done(kept ? base::Status() : base::Status(kept.error()));
           });
}

void send_image(Context& context, const CallPtr& call, const base::Uuid& id) {
  auto image = storage::ImageFiles(context.store).open(id);
  if (!image) return call->fail(image.error());
  front::Reply head{.status = 200, .content_type = media_type(image->file), .headers = {}, .body = {}};
  add_header(head, "cache-control", "private, max-age=3600");
  add_header(head, "x-content-type-options", "nosniff");
  add_header(head, "content-security-policy", "sandbox; default-src 'none'");
  const ByteRange whole{0, image->bytes};
  FileStream::start(context, call, std::move(image->file), whole, std::move(head));
}

}  // namespace millrace::api
