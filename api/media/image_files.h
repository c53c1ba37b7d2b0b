#pragma once
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "api/call.h"
#include "api/context.h"
#include "platform/base/clock.h"
#include "platform/base/ids.h"
#include "schemas/media/image.h"

// Images that clients fetch by a URL of ours (docs/design/http-contract.md §5): open to whoever has it, for
// an hour.
namespace millrace::api {

inline constexpr std::chrono::minutes kImageUrlLife{60};

// What stands in such a URL: …/v1/images/files/{id}?expires&sig
struct ImageUrl {
  std::string id, expires, signature;
};
// "/v1/images/files/…" of an image that is there until `expires`. `secret_key`: of DATA/secret.key.
std::string image_path(const base::Uuid& id, base::WallTime expires, std::string_view secret_key);
// nullopt: the signature is another's, or the time is over.
std::optional<base::Uuid> checked_image(const ImageUrl& url, std::string_view secret_key, base::WallTime now);

// Keeps those images of `reply` that came as base64 and puts their URLs in its place; `done` on any thread.
// Blocks on the disk: pool.
void keep_images(Context& context, const Call& call, std::shared_ptr<schemas::ImageReply> reply,
                 std::function<void(base::Status)> done);
// Answers with the bytes, 404. Blocks: pool.
void send_image(Context& context, const CallPtr& call, const base::Uuid& id);

}  // namespace millrace::api
