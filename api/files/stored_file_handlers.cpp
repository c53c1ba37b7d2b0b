#include <algorithm>
#include <array>
#include <utility>
#include <vector>

#include "api/batches/batch_output.h"
#include "api/call.h"
#include "api/call_key.h"
#include "api/chat/chat_responder.h"
#include "api/handlers.h"
#include "api/media/download.h"
#include "api/media/signed_url.h"
#include "api/routing/list_query.h"
#include "api/routing/page.h"
#include "schemas/files/stored_file.h"
#include "schemas/json/json_text.h"
#include "storage/files/files.h"

namespace millrace::api {
namespace {

using base::Code;
using schemas::Field;
using schemas::StoredFile;

constexpr int kListDefault = 1'000, kPagesMax = 1'000'000, kCountMax = 100'000;
constexpr int kUrlHoursDefault = 24, kUrlHoursMax = 168;

struct StoredFileListQuery {
  int limit = kListDefault, page = 0, page_size = 0;
  std::string after, order = "desc", purpose;
};
template <auto Member>
constexpr auto into_list = &schemas::store_in<StoredFileListQuery, Member>;
constexpr std::array<std::string_view, 2> kOrders{"asc", "desc"};

constexpr std::array kListFields{
    Field{.name = "limit",
          .type = schemas::FieldType::kInteger,
          .text = "How many at most",
          .min = 1,
          .max = 10'000,
          .default_json = "1000",
          .store = into_list<&StoredFileListQuery::limit>},
    Field{.name = "after",
          .text = "`last_id` of the page before",
          .max = 64,
          .store = into_list<&StoredFileListQuery::after>},
    Field{.name = "order",
          .text = "By the time of the upload",
          .choices = kOrders,
          .default_json = R"("desc")",
          .store = into_list<&StoredFileListQuery::order>},
    Field{.name = "purpose",
          .text = "Only files with this purpose",
          .max = schemas::kPurposeMax,
          .store = into_list<&StoredFileListQuery::purpose>},
    Field{.name = "page",
          .type = schemas::FieldType::kInteger,
          .text = "Mistral's paging instead of `after`: the page, from 0",
          .min = 0,
          .max = kPagesMax,
          .store = into_list<&StoredFileListQuery::page>},
    Field{.name = "page_size",
          .type = schemas::FieldType::kInteger,
          .text = "Mistral's name of `limit`",
          .min = 1,
          .max = 10'000,
          .store = into_list<&StoredFileListQuery::page_size>},
};

struct FileUrlQuery {
  int expiry = kUrlHoursDefault;
};
constexpr std::array kUrlFields{
    Field{.name = "expiry",
          .type = schemas::FieldType::kInteger,
          .text = "For how many hours the URL is valid",
          .min = 1,
          .max = kUrlHoursMax,
          .default_json = "24",
          .store = &schemas::store_in<FileUrlQuery, &FileUrlQuery::expiry>},
};

// The id in the path; nullopt: 404 was sent.
std::optional<base::Uuid> path_file(Call& call) {
  const auto id = schemas::stored_file_id_from(call.params.front());
  if (!id) call.fail(storage::no_such_file());
  return id;
}

// The file that the path names; nullopt: an error was sent. Blocks; runs on the pool.
std::optional<StoredFile> find_stored_file(Context& context, Call& call) {
  const auto id = path_file(call);
  if (!id) return std::nullopt;
  auto found = storage::Files(context.store).file(call.tenant(), *id);
  if (found) return *std::move(found);
  call.fail(found.error());
  return std::nullopt;
}

void send_content(Context& context, const CallPtr& call, const std::string& tenant, const StoredFile& file) {
  const Download download{.sha256_hex = file.sha256_hex,
                          .mime_type = "application/octet-stream",  // Mistral's client takes no other
                          .name = file.name,
                          .bytes = file.bytes};
  answer_download(*call, download, [&](ByteRange range, front::Reply head) {
    auto content = storage::Files(context.store).open(tenant, file.id);
    if (!content) return call->fail(content.error());
    FileStream::start(context, call, std::move(*content), range, std::move(head));
  });
}

// The form is complete. Runs on the pool.
void keep_upload(Context& context, const CallPtr& call, Form form) {
  auto upload = schemas::parse_file_upload(std::move(form.fields), form.file != nullptr);
  if (!upload) return call->refuse(upload.error());
  auto key = optional_key(*call, [&form] { return form.fingerprint; });
  if (!key) return call->fail(key.error());
  const base::WallTime now = context.store.clock().wall();
  storage::NewFile file{.about = {.id = base::Uuid::make(now),
                                  .purpose = std::move(upload->purpose),
                                  .name = schemas::stored_file_name(form.file_name),
                                  .sha256_hex = {},
                                  .created_at = now,
                                  .expires_at = {}},
                        .content = std::move(form.file)};
  if (upload->life) file.about.expires_at = now + *upload->life;
  storage::Files(context.store)
      .add(std::move(file), idempotent_call(context, *call, std::move(*key)), &schemas::stored_file_json,
           reply_callback(call));
}

}  // namespace

std::span<const Field> stored_file_list_fields() { return kListFields; }
std::span<const Field> stored_file_url_fields() { return kUrlFields; }

void upload_stored_file(Context& context, CallPtr call) {
  const std::shared_ptr<Upload> upload = call->upload;
  if (!upload) return keep_upload(context, call, {});  // the request has no body
  upload->finish([&context, call](tl::expected<Form, schemas::Refusal> form) {
    call->drop_body();
    if (!form) return call->refuse(form.error());
    keep_upload(context, call, *std::move(form));
  });
}

void list_stored_files(Context& context, CallPtr call) {
  StoredFileListQuery query;
  if (!read_query(*call, kListFields, &query)) return;
  const int wanted = query.page_size > 0 ? query.page_size : query.limit;
  storage::FileListQuery list{.limit = std::min(wanted, schemas::kFilePageMax) + 1,
                              .skip = query.page * std::min(wanted, schemas::kFilePageMax),
                              .is_oldest_first = query.order == "asc",
                              .purpose = query.purpose};
  if (!query.after.empty()) {
    list.after = schemas::stored_file_id_from(query.after);
    if (!list.after) return refuse_query(*call, "after", "Input should be the id of a file");
  }
  storage::Files files(context.store);
  const auto found = files.list(call->tenant(), list);
  if (!found) return call->fail(found.error());
  const auto total = files.count(call->tenant(), query.purpose, kCountMax);
  if (!total) return call->fail(total.error());
  const std::size_t shown = std::min(found->size(), static_cast<std::size_t>(list.limit - 1));
  std::string data = "[";
  for (std::size_t i = 0; i < shown; ++i)
    (data += i > 0 ? "," : "") += schemas::stored_file_json((*found)[i]);
  auto reservation = reserve_reply(context, data.size());
  if (!reservation) return call->fail(reservation.error());
  schemas::JsonObject out(data.size() + 256);
  out.member("object", "list").raw("data", data + "]").flag("has_more", found->size() > shown);
  if (shown > 0) {
    out.member("first_id", schemas::stored_file_id(found->front().id))
        .member("last_id", schemas::stored_file_id((*found)[shown - 1].id));
  }
  front::Reply reply = json_reply(200, out.number("total", *total).finish());
  reply.reservation = *std::move(reservation);
  call->reply(std::move(reply));
}

void get_stored_file(Context& context, CallPtr call) {
  const auto file = find_stored_file(context, *call);
  if (file) call->reply(json_reply(200, schemas::stored_file_json(*file)));
}

void delete_stored_file(Context& context, CallPtr call) {
  const auto id = path_file(*call);
  if (!id) return;
  auto key = optional_key(*call);
  if (!key) return call->fail(key.error());
  storage::Files(context.store)
      .remove(
          *id, idempotent_call(context, *call, std::move(*key)),
          [](const StoredFile& file) { return schemas::deleted_file_json(file.id); }, reply_callback(call));
}

void stored_file_content(Context& context, CallPtr call) {
  const auto id = path_file(*call);
  if (!id) return;
  const auto file = storage::Files(context.store).file(call->tenant(), *id);
  if (file) return send_content(context, call, call->tenant(), *file);
  if (file.error().code != Code::kNotFound) return call->fail(file.error());
  on_pool(context, base::Pool::Queue::kLarge, call, [&context, call, id = *id] {
    if (send_partial_output(context, call, id)) return;
    const auto whole = storage::Files(context.store).file(call->tenant(), id);
    whole ? send_content(context, call, call->tenant(), *whole) : call->fail(whole.error());
  });
}

void stored_file_url(Context& context, CallPtr call) {
  FileUrlQuery query;
  if (!read_query(*call, kUrlFields, &query)) return;
  const auto file = find_stored_file(context, *call);
  if (!file) return;
  const base::WallTime expires = context.clock.wall() + std::chrono::hours(query.expiry);
  const std::string url = public_base(context, *call) + "/v1/files/signed/" + file->id.str() + "?" +
                          signed_query(SignedThing::kFile, file->id, expires, context.secret_key);
  call->reply(json_reply(200, schemas::JsonObject().member("url", url).finish()));
}

// Every invalid URL gets the same 404.
void signed_file_content(Context& context, CallPtr call) {
  SignedUrl url{.id = call->params.front(), .expires = {}, .signature = {}};
  if (!read_query(*call, signed_url_fields(), &url)) return;
  const auto id = checked_id(SignedThing::kFile, url, context.secret_key, context.clock.wall());
  if (!id) return call->fail(base::error(Code::kNotFound, "There is no such file, or its URL has expired"));
  storage::Files files(context.store);
  const auto tenant = files.owner(*id);
  if (!tenant) return call->fail(tenant.error());
  const auto file = files.file(*tenant, *id);
  if (!file) return call->fail(file.error());
  send_content(context, call, *tenant, *file);
}

}  // namespace millrace::api
