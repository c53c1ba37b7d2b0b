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

// Generated images behind signed URLs (docs/design/http-contract.md §5). Anyone with the URL can download the
// image, for an hour.
namespace millrace::api {

inline constexpr std::chrono::minutes kImageUrlLife{60};

// The signed path "/v1/images/files/…" of an image, valid until `expires`. `secret_key`: DATA/secret.key.
std::string image_path(const base::Uuid& id, base::WallTime expires, std::string_view secret_key);

// Stores the base64 images of `reply` and replaces them by their URLs. `done` runs on any thread. Blocks on
// the disk; runs on the pool.
void keep_images(Context& context, const Call& call, std::shared_ptr<schemas::ImageReply> reply,
                 std::function<void(base::Status)> done);
// Sends the image, or 404. Blocks; runs on the pool.
void send_image(Context& context, const CallPtr& call, const base::Uuid& id);

}  // namespace millrace::api
