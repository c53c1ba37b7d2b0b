#include "api/admission/upload.h"

#include <algorithm>
#include <exception>

#include "platform/base/bytes.h"
#include "platform/base/log.h"
#include "platform/base/utf8.h"
#include "schemas/files/multipart_upload.h"
#include "schemas/files/stored_file.h"
#include "schemas/machines/machine_file.h"
#include "schemas/media/audio_format.h"
#include "schemas/media/document_type.h"
#include "schemas/media/ocr.h"
#include "schemas/media/speakers.h"
#include "schemas/media/transcription.h"

namespace millrace::api {
namespace {

using base::Code;
using PoolQueue = base::Pool::Queue;

constexpr std::size_t kFileNameMax = 255;

// Clients send a bare name, a Unix path or a Windows path.
std::string bare_name(std::string_view sent) {
  const std::size_t folder = sent.find_last_of("/\\");
  if (folder != std::string_view::npos) sent.remove_prefix(folder + 1);
  std::size_t size = std::min(sent.size(), kFileNameMax);
  while (size > 0 && size < sent.size() && (static_cast<unsigned char>(sent[size]) & 0xC0U) == 0x80U) --size;
  return std::string(sent.substr(0, size));  // no part of a character
}

base::Error about_file(Code code, std::string message) {
  return base::error(code, std::move(message), std::string(kFormFile));
}

base::Status check_recording(std::string_view head) {
  if (schemas::detect_audio(head)) return {};
  return about_file(Code::kAudioUnsupported, "The file is not a supported recording. Supported formats are " +
                                                 std::string(schemas::audio_format_names()) +
                                                 "; the format is detected from the file's bytes");
}

base::Status check_document(std::string_view head) {
  if (schemas::detect_media(head)) return {};
  return about_file(Code::kDocumentUnsupported, "The document is not PDF, PNG, JPEG or WebP");
}

schemas::Refusal refusal_of_field(std::string_view name, std::string message, std::string type,
                                  std::string ctx = {}) {
  return schemas::invalid({{.loc = {"body", std::string(name)},
                            .msg = std::move(message),
                            .type = std::move(type),
                            .input = {},
                            .ctx = std::move(ctx)}});
}

void hash_text(base::Sha256& hash, std::string_view text) {
  hash.update(std::to_string(text.size()) + ":");
  hash.update(text);
}

}  // namespace

constinit const FileRules kRecordingRules{.subject = "recording",
                                          .head_bytes = schemas::kAudioHeadBytes,
                                          .bytes_max = schemas::kAudioBytesMax,
                                          .empty = Code::kAudioEmpty,
                                          .too_large = Code::kAudioTooLarge,
                                          .check_head = &check_recording,
                                          .large_field = schemas::kKnownSpeakerReferences,
                                          .large_field_max = schemas::kSpeakerReferenceMax,
                                          .fields_max = kRecordingFieldsMax,
                                          .memory_max = kRecordingMemoryMax};
constinit const FileRules kDocumentRules{.subject = "document",
                                         .head_bytes = schemas::kMediaHeadBytes,
                                         .bytes_max = schemas::kDocumentBytesMax,
                                         .empty = Code::kDocumentEmpty,
                                         .too_large = Code::kDocumentTooLarge,
                                         .check_head = &check_document};
constinit const FileRules kAnyFileRules{.subject = "file",
                                        .head_bytes = 1,
                                        .bytes_max = schemas::kMachineFileBytesMax,
                                        .empty = Code::kBadRequest,  // never: an empty body has no upload
                                        .too_large = Code::kTooLarge,
                                        .check_head = [](std::string_view) -> base::Status { return {}; }};

constinit const FileRules kChatFileRules{.subject = "file in a chat",
                                         .head_bytes = 1,
                                         .bytes_max = std::int64_t{32} << 20,
                                         .empty = Code::kBadRequest,
                                         .too_large = Code::kTooLarge,
                                         .check_head = kAnyFileRules.check_head};
constinit const FileRules kStoredFileRules{.subject = "file",
                                           .head_bytes = 1,
                                           .bytes_max = schemas::kStoredFileBytesMax,
                                           .empty = Code::kBadRequest,
                                           .too_large = Code::kTooLarge,
                                           .check_head = kAnyFileRules.check_head};
constinit const FileRules kUploadPartRules{.subject = "part of an upload",
                                           .head_bytes = 1,
                                           .bytes_max = schemas::kUploadPartBytesMax,
                                           .empty = Code::kBadRequest,
                                           .too_large = Code::kTooLarge,
                                           .check_head = kAnyFileRules.check_head,
                                           .field = schemas::kUploadPartField};

Upload::Upload(base::Pool& pool, storage::Blobs& blobs, const FileRules& rules,
               const std::optional<std::string>& boundary, std::int64_t expected_bytes)
    : pool_(pool), blobs_(blobs), rules_(rules), expected_bytes_(expected_bytes) {
  if (boundary) reader_.emplace(*boundary, static_cast<front::FormEvents&>(*this));
}

Upload::~Upload() { drop_file(); }

// The pool removes the file, because an upload may be dropped on the front's thread.
void Upload::drop_file() {
  if (!writer_) return;
  std::shared_ptr<storage::BlobWriter> writer = std::move(writer_);
  static_cast<void>(pool_.post_reply(PoolQueue::kQuick, [writer = std::move(writer)] {}));
}

void Upload::start() {
  const std::lock_guard lock(mutex_);
  if (std::exchange(started_, true)) return;
  if (!pending_.empty()) schedule_work(true);
}

front::BodySink::Flow Upload::take(std::string_view bytes) {
  const std::lock_guard lock(mutex_);
  if (refusal_) return Flow::kDiscardRest;
  pending_.append(bytes);
  if (started_) schedule_work(false);
  if (refusal_) return Flow::kDiscardRest;
  return is_full() ? Flow::kPause : Flow::kMore;
}

void Upload::on_capacity(std::function<void()> go_on) {
  {
    const std::lock_guard lock(mutex_);
    if (is_full()) return resume_.swap(go_on);
  }
  go_on();
}

void Upload::cancel() {
  std::function<void()> go_on;
  {
    const std::lock_guard lock(mutex_);
    if (started_) return;
    refusal_ = {base::error(Code::kOverloaded, "Temporarily overloaded; retry"), {}};
    go_on.swap(resume_);
  }
  if (go_on) go_on();
}

void Upload::finish(Done done) {
  {
    const std::lock_guard lock(mutex_);
    started_ = over_ = true;
    done_ = std::move(done);
    schedule_work(true);
    if (working_) return;
  }
  end();  // the pool is closed
}

// `must_queue`: post even if the pool's queue is full, because the body has been received already.
void Upload::schedule_work(bool must_queue) {
  if (working_) return;
  // If the request has gone, the upload releases its bytes at once and writes nothing more.
  auto task = [weak = weak_from_this()] {
    if (const auto self = weak.lock()) self->work();
  };
  working_ = must_queue ? pool_.post_reply(PoolQueue::kLarge, std::move(task))
                        : pool_.post(PoolQueue::kLarge, std::move(task));
  if (working_ || refusal_) return;
  refusal_ = {base::error(Code::kOverloaded, "Temporarily overloaded; retry"), {}};
}

// One step of an upload. Between two steps the pool can run other tasks.
void Upload::work() {
  bytes_.clear();
  bool refused = false;
  std::function<void()> go_on;
  {
    const std::lock_guard lock(mutex_);
    bytes_.swap(pending_);
    go_on.swap(resume_);
    refused = refusal_.has_value();
  }
  if (go_on) go_on();
  if (!refused) parse(bytes_);
  {
    const std::lock_guard lock(mutex_);
    working_ = false;
    if (!pending_.empty()) schedule_work(true);
    if (working_ || !over_) return;
  }
  end();
}

void Upload::parse(std::string_view bytes) {
  try {
    const base::Status read = feed(bytes);
    if (read) return;
    refuse(problem_ ? *std::move(problem_) : schemas::Refusal{read.error(), {}});
  } catch (const std::exception& broken) {
    base::log_error("upload_failed", {{"error", broken.what()}});
    refuse(
        {base::error(Code::kInternal,
                     "Internal error while reading the upload: look for `upload_failed` in the server's log"),
         {}});
  }
}

base::Status Upload::feed(std::string_view bytes) {
  if (reader_) return reader_->feed(bytes);
  if (bytes.empty()) return {};
  if (!has_file_) static_cast<void>(part_begins({std::string(rules_.field), std::nullopt, {}}));
  return file_bytes(bytes);
}

base::Status Upload::finish_reading() {
  if (reader_) return reader_->finish();
  return has_file_ ? part_ends() : base::Status();
}

void Upload::refuse(schemas::Refusal why) {
  drop_file();
  std::function<void()> go_on;
  {
    const std::lock_guard lock(mutex_);
    if (!refusal_) refusal_ = std::move(why);
    go_on.swap(resume_);
  }
  if (go_on) go_on();
}

void Upload::end() {
  Done done;
  std::optional<schemas::Refusal> refusal;
  {
    const std::lock_guard lock(mutex_);
    if (std::exchange(closed_, true)) return;
    done.swap(done_);
    refusal = std::move(refusal_);
  }
  if (refusal) {
    drop_file();
    return done(tl::make_unexpected(*std::move(refusal)));
  }
  done(whole_form());
}

tl::expected<Form, schemas::Refusal> Upload::whole_form() {
  const auto refused = [this](base::Error error) {
    drop_file();
    return tl::make_unexpected(schemas::Refusal{std::move(error), {}});
  };
  if (auto read = finish_reading(); !read) return refused(read.error());
  if (writer_) {
    auto staged = std::exchange(writer_, nullptr)->finish();
    if (!staged) return refused(staged.error());
    form_.file = std::move(*staged);
    part_digests_[file_digest_index_].content_sha256 = form_.file->ref().sha256_hex;
  }
  base::Sha256 hash;
  for (const PartDigest& each : part_digests_) {
    hash_text(hash, each.name);
    hash_text(hash, each.file_name);
    hash_text(hash, each.content_sha256);
  }
  form_.fingerprint = hash.finish();
  return std::move(form_);
}

base::Status Upload::part_begins(front::PartHead head) {
  const bool is_file = head.name == rules_.field;
  kind_ = is_file ? PartKind::kFile : head.file_name ? PartKind::kUnknownFile : PartKind::kField;
  part_digests_.push_back({head.name, head.file_name.value_or(""), {}});
  hash_ = base::Sha256();
  switch (kind_) {
    case PartKind::kField:
      if (!base::is_utf8(head.name))
        return base::error(Code::kBadRequest, "The name of a form field is not UTF-8");
      form_.fields.emplace_back(std::move(head.name), std::string());
      break;
    case PartKind::kUnknownFile:
      form_.dropped.push_back(std::move(head.name));
      break;
    case PartKind::kFile:
      if (std::exchange(has_file_, true)) {
        problem_ = refusal_of_field(
            rules_.field,
            "The form has more than one file: send one " + std::string(rules_.subject) + " per request",
            "too_many_files");
        return problem_->error;
      }
      file_digest_index_ = part_digests_.size() - 1;
      form_.file_name = bare_name(head.file_name.value_or(""));
      break;
  }
  return {};
}

base::Status Upload::part_bytes(std::string_view bytes) {
  switch (kind_) {
    case PartKind::kField:
      return field_bytes(bytes);
    case PartKind::kFile:
      return file_bytes(bytes);
    case PartKind::kUnknownFile:
      hash_.update(bytes);
      return {};
  }
  return {};
}

std::size_t Upload::field_max(std::string_view name) const {
  if (name.ends_with("[]")) name.remove_suffix(2);
  return !name.empty() && name == rules_.large_field ? rules_.large_field_max : kFormFieldMax;
}

base::Status Upload::field_bytes(std::string_view bytes) {
  hash_.update(bytes);
  auto& [name, value] = form_.fields.back();
  value.append(bytes);
  fields_bytes_ += bytes.size();
  const std::size_t max = field_max(name);
  if (value.size() > max) {
    problem_ = refusal_of_field(name, "String should have at most " + std::to_string(max) + " bytes",
                                "string_too_long", R"({"max_length":)" + std::to_string(max) + "}");
    return problem_->error;
  }
  if (fields_bytes_ <= rules_.fields_max) return {};
  problem_ = refusal_of_field(name,
                              "The fields of the form should have at most " +
                                  base::format_bytes(static_cast<std::int64_t>(rules_.fields_max)) +
                                  " together, without the file",
                              "string_too_long");
  return problem_->error;
}

base::Status Upload::file_bytes(std::string_view bytes) {
  if (!writer_) {
    const std::string_view first = bytes.substr(0, rules_.head_bytes - head_.size());
    head_.append(first);
    bytes.remove_prefix(first.size());
    if (head_.size() < rules_.head_bytes) return {};
    if (auto opened = open_file(); !opened) return opened;
  }
  const auto after = writer_->bytes() + static_cast<std::int64_t>(bytes.size());
  if (after > rules_.bytes_max)
    return about_field(rules_.too_large, "The " + std::string(rules_.subject) + " is larger than " +
                                             base::format_bytes(rules_.bytes_max) +
                                             ", the largest allowed size");
  return writer_->append(bytes);
}

base::Error Upload::about_field(Code code, std::string message) const {
  return base::error(code, std::move(message), std::string(rules_.field));
}

// Checks the format by the first bytes of the file, then writes them.
base::Status Upload::open_file() {
  if (auto good = rules_.check_head(head_); !good) return good;
  auto begun = blobs_.begin(std::min(expected_bytes_, rules_.bytes_max));
  if (!begun) return begun.error();
  writer_ = std::move(*begun);
  return writer_->append(head_);
}

base::Status Upload::part_ends() {
  if (kind_ == PartKind::kField && !base::is_utf8(form_.fields.back().second)) {
    const std::string& name = form_.fields.back().first;
    return base::error(Code::kBadRequest, "The form field '" + name + "' is not UTF-8", name);
  }
  if (kind_ == PartKind::kField) form_.fields.back().second.shrink_to_fit();
  if (kind_ != PartKind::kFile) {
    part_digests_.back().content_sha256 = base::hex(hash_.finish());
    return {};
  }
  if (head_.empty()) return about_field(rules_.empty, "The " + std::string(rules_.subject) + " is empty");
  return writer_ ? base::Status() : open_file();
}

}  // namespace millrace::api
