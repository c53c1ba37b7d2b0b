#include <array>
#include <utility>

#include "api/handlers.h"
#include "api/image_answer.h"
#include "api/image_files.h"
#include "api/list_query.h"
#include "api/media_answer.h"
#include "api/wrong_model.h"

namespace millrace::api {
namespace {

using schemas::Field;

constexpr std::array kImageFields{
    Field{.name = "expires",
          .text = "Unix seconds, as the URL has it",
          .max = 20,
          .store = &schemas::store_in<ImageUrl, &ImageUrl::expires>},
    Field{.name = "sig",
          .text = "As the URL has it",
          .max = 128,
          .store = &schemas::store_in<ImageUrl, &ImageUrl::signature>},
};

}  // namespace

void create_embeddings(Context& context, CallPtr call) {
  const auto strict = read_strict(*call);
  if (!strict) return;
  auto request = schemas::parse_embedding_request(call->body());
  if (!request) return call->refuse(request.error());
  request->strict = *strict;
  if (const auto wrong = inference::Media(context.chat, context.pool).check(*request))
    return call->refuse(of_wrong_model(*context.chat.registry(), request->model, "make embeddings", *wrong));
  std::string().swap(call->body());  // its share of the budget stays: the request holds as much
  std::make_shared<EmbeddingAnswer>(context, std::move(call), *std::move(request))->begin();
}

void create_images(Context& context, CallPtr call) {
  const auto strict = read_strict(*call);
  if (!strict) return;
  auto request = schemas::parse_image_request(call->body());
  if (!request) return call->refuse(request.error());
  request->strict = *strict;
  if (const auto wrong = inference::Media(context.chat, context.pool).check(*request))
    return call->refuse(of_wrong_model(*context.chat.registry(), request->model, "make images", *wrong));
  std::make_shared<ImageAnswer>(context, std::move(call), *std::move(request))->begin();
}

std::span<const schemas::Field> image_file_fields() { return kImageFields; }

// Whatever is wrong with the URL, there is no such file.
void image_file(Context& context, CallPtr call) {
  ImageUrl url;
  url.id = call->params.front();
  const bool read = read_query(*call, kImageFields, &url);
  if (!read) return;
  const auto id = checked_image(url, context.secret_key, context.clock.wall());
  if (!id) return call->fail(base::error(base::Code::kNotFound, "There is no such image, or no longer"));
  send_image(context, call, *id);
}

}  // namespace millrace::api
