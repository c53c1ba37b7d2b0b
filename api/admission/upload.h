#pragma once
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <tl/expected.hpp>

#include "api/front/exchange.h"
#include "api/front/multipart.h"
#include "platform/base/crypto.h"
#include "platform/base/pool.h"
#include "schemas/error_body.h"
#include "schemas/media/speakers.h"
#include "schemas/media/transcription.h"
#include "storage/blobs/blobs.h"

namespace millrace::api {

inline constexpr std::size_t kFormFieldMax = 64 * 1024;  // bytes of a field's value; 422
inline constexpr std::size_t kFormFieldsMax = 4u << 20;  // bytes of the values of all fields together; 422
// The same of a form with a recording, which may have references of speakers: 6.25 MiB.
inline constexpr std::size_t kRecordingFieldsMax =
    schemas::kKnownSpeakersMax * schemas::kSpeakerReferenceMax + 4 * kFormFieldMax;
inline constexpr std::string_view kFormFile = schemas::kRecordingField;
// Upper bound for the memory of one upload: the bytes that wait for the pool and the bytes being parsed (up
// to 2 MiB of capacity each), 1 MiB of the file, and the fields (kFormFieldsMax). If more bytes would wait,
// reading from the client pauses.
inline constexpr std::size_t kUploadMemoryMax = 10u << 20;
// The same of a recording. While it arrives, 5 MiB as above and the fields, of which the last one may use
// four times its bytes while its memory grows: 15.75 MiB. Afterwards the fields are moved from step to step.
// At the end they exist as JSON values and as text, whose memory doubles as it grows: 25 MiB.
inline constexpr std::size_t kRecordingMemoryMax = 4 * kRecordingFieldsMax;

// Which file an upload accepts.
struct FileRules {
  std::string_view subject;  // "recording"
  std::size_t head_bytes;    // that `check_head` examines
  std::int64_t bytes_max;
  base::Code empty, too_large;
  // Checks the format by the first bytes of a file (all of it if it is shorter); never called without bytes.
  base::Status (*check_head)(std::string_view head);
  // A field, whose name may end with [], that may have `large_field_max` bytes instead of kFormFieldMax.
  std::string_view large_field = {};
  std::size_t large_field_max = 0;
  std::size_t fields_max = kFormFieldsMax;    // bytes of the values of all fields together
  std::size_t memory_max = kUploadMemoryMax;  // upper bound for the memory of one upload
  std::string_view field = kFormFile;         // of the form, which has the file
};
extern const FileRules kRecordingRules;   // kAudioEmpty, kAudioTooLarge, kAudioUnsupported
extern const FileRules kDocumentRules;    // kDocumentEmpty, kDocumentTooLarge, kDocumentUnsupported
extern const FileRules kAnyFileRules;     // for a machine: kTooLarge
extern const FileRules kChatFileRules;    // of /v1/files in a chat: kTooLarge
extern const FileRules kStoredFileRules;  // for /v1/files: kBadRequest (empty), kTooLarge
extern const FileRules kUploadPartRules;  // for a part of /v1/uploads: the same

// A completely received form. If the body is the file itself, there are no fields.
struct Form {
  std::vector<std::pair<std::string, std::string>> fields;  // in their order
  storage::Staged file;                                     // null: the form has no file
  std::string file_name;                                    // without folders
  std::vector<std::string> dropped;                         // field names of unexpected files
  // SHA-256 over name, file name and SHA-256 of the content of each part, in order (docs/design/delivery.md,
  // Idempotency-Key): clients use a new boundary for each retry.
  base::Sha256Digest fingerprint{};
};

// The body of a request with a file: a multipart form, or the file itself. Received pieces are queued in
// memory. The pool parses them in order, one task at a time. It writes the file to a blob as it arrives and
// keeps the fields in memory. If the network is faster than that, reading from the client pauses. Invalid
// uploads are rejected while they arrive: a file against its rules, a second file, a field above its limit,
// or a malformed form. A dropped or rejected upload leaves nothing on disk. Thread-safe. The pool and the
// blobs outlive it.
class Upload final : public front::BodySink,
                     private front::FormEvents,
                     public std::enable_shared_from_this<Upload> {
 public:
  using Done = std::function<void(tl::expected<Form, schemas::Refusal> form)>;

  // `boundary`: from front::form_boundary; nullopt: the body is the file itself. `expected_bytes`: the size
  // of the body; 0 if unknown.
  Upload(base::Pool& pool, storage::Blobs& blobs, const FileRules& rules,
         const std::optional<std::string>& boundary, std::int64_t expected_bytes);
  ~Upload() override;

  std::size_t memory_max() const { return rules_.memory_max; }
  bool is_form() const { return reader_.has_value(); }
  // Starts parsing on the pool. Until then received bytes stay in memory, so that a caller with an unknown
  // key cannot write to the disk.
  void start();
  // Accepts no more bytes. The request is rejected as soon as it runs.
  void cancel();
  Flow take(std::string_view bytes) override;
  void on_capacity(std::function<void()> go_on) override;
  // The body has ended, or no more of it is accepted. `done` runs once on the pool; if the pool is closed, on
  // the calling thread.
  void finish(Done done);

 private:
  static constexpr std::size_t kWaitingMax = (1u << 20) - 64 * 1024;  // the last piece fits into the MiB

  // `mutex_` is held.
  void schedule_work(bool must_queue);
  // On the pool, one thread at a time.
  void work();
  void parse(std::string_view bytes);
  base::Status feed(std::string_view bytes);
  base::Status finish_reading();
  void end();
  tl::expected<Form, schemas::Refusal> whole_form();
  void refuse(schemas::Refusal why);
  bool is_full() const { return pending_.size() >= kWaitingMax && !refusal_; }
  void drop_file();

  base::Status part_begins(front::PartHead head) override;
  base::Status part_bytes(std::string_view bytes) override;
  base::Status part_ends() override;
  base::Status field_bytes(std::string_view bytes);
  std::size_t field_max(std::string_view name) const;
  base::Status file_bytes(std::string_view bytes);
  base::Status open_file();
  base::Error about_field(base::Code code, std::string message) const;

  // The digest of one part, for the fingerprint.
  struct PartDigest {
    std::string name, file_name, content_sha256;
  };
  enum class PartKind : std::uint8_t { kField, kFile, kUnknownFile };

  base::Pool& pool_;
  storage::Blobs& blobs_;
  const FileRules& rules_;
  const std::int64_t expected_bytes_;

  std::mutex mutex_;  // guards the next eight
  std::string pending_;
  std::function<void()> resume_;  // resumes reading in the front end once there is space
  bool started_ = false;
  bool working_ = false;  // a task is queued or running on the pool
  bool over_ = false;     // the body has ended
  Done done_;
  std::optional<schemas::Refusal> refusal_;
  bool closed_ = false;  // `done_` has been called

  // Used only by the pool task.
  std::string bytes_;                        // being parsed; its memory is reused
  std::optional<front::FormReader> reader_;  // nullopt: the body is the file itself
  Form form_;
  std::vector<PartDigest> part_digests_;
  PartKind kind_ = PartKind::kField;
  std::size_t fields_bytes_ = 0;  // of all values so far
  base::Sha256 hash_;             // of this part
  std::string head_;              // first bytes of the file, until its format is checked
  std::unique_ptr<storage::BlobWriter> writer_;
  bool has_file_ = false;
  std::size_t file_digest_index_ = 0;  // its index in part_digests_
  std::optional<schemas::Refusal> problem_;
};

}  // namespace millrace::api
