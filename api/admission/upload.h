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
#include "schemas/media/transcription.h"
#include "storage/blobs/blobs.h"

namespace millrace::api {

inline constexpr std::size_t kFormFieldMax = 64 * 1024;  // bytes of a field's value; 422
inline constexpr std::string_view kFormFile = schemas::kRecordingField;
// What an upload has in memory at the most: what waits for the pool (the client waits where more would) and
// what is parsed, up to 2 MiB each with their room to grow, the fields, and a MiB of the file.
inline constexpr std::size_t kUploadMemoryMax = 8u << 20;

// A form that has arrived whole.
struct Form {
  std::vector<std::pair<std::string, std::string>> fields;  // in their order
  storage::Staged file;                                     // null: there was none
  std::string file_name;                                    // without folders
  std::vector<std::string> dropped;                         // field names of unexpected files
  // SHA-256 over name, file name and SHA-256 of the content of each part, in order (docs/design/delivery.md,
  // Idempotency-Key): clients make a new boundary for each retry.
  base::Sha256Digest fingerprint{};
};

// The body of a multipart request with a recording in it. Pieces wait in memory for the pool, where they are
// parsed in order, one task at a time; the recording goes to a blob as it arrives, the fields are kept. Where
// the network is faster than that, the client waits. What
// cannot become a good request is refused while it comes: a recording that is empty (kAudioEmpty), none of
// ours by its first bytes (kAudioUnsupported) or above 25 MB (kAudioTooLarge), a second one, a field above
// its bound, a form that is none. An upload that is dropped, or refused, leaves nothing on the disk.
// Thread-safe. The pool and the blobs outlive it.
class Upload final : public front::BodySink,
                     private front::FormEvents,
                     public std::enable_shared_from_this<Upload> {
 public:
  using Done = std::function<void(tl::expected<Form, schemas::Refusal> form)>;

  // `boundary`: front::form_boundary. `expected_bytes`: of the body; 0 is not known.
  Upload(base::Pool& pool, storage::Blobs& blobs, std::string_view boundary, std::int64_t expected_bytes);
  ~Upload() override;

  // Starts parsing on the pool. Until then, received bytes wait in memory: nothing from a caller with an
  // unknown key reaches the disk.
  void start();
  // Accepts no more bytes. The request is refused as soon as it runs.
  void give_up();
  Flow take(std::string_view bytes) override;
  void on_capacity(std::function<void()> go_on) override;
  // The body has ended, or no more of it is accepted. `done` runs once on the pool; if the pool is closed, on
  // the calling thread.
  void finish(Done done);

 private:
  static constexpr std::size_t kWaitingMax = (1u << 20) - 64 * 1024;  // the last piece fits into the MiB

  // `mutex_` is held.
  void work_soon(bool owed);
  // On the pool, one thread at a time.
  void work();
  void parse(std::string_view bytes);
  void end();
  tl::expected<Form, schemas::Refusal> whole_form();
  void refuse(schemas::Refusal why);
  bool is_full() const { return pending_.size() >= kWaitingMax && !refusal_; }
  void drop_file();

  base::Status part_begins(front::PartHead head) override;
  base::Status part_bytes(std::string_view bytes) override;
  base::Status part_ends() override;
  base::Status field_bytes(std::string_view bytes);
  base::Status file_bytes(std::string_view bytes);
  base::Status open_file();

  // What one part comes to, for the fingerprint.
  struct PartPrint {
    std::string name, file_name, content_sha256;
  };
  enum class PartKind : std::uint8_t { kField, kFile, kUnknownFile };

  base::Pool& pool_;
  storage::Blobs& blobs_;
  const std::int64_t expected_bytes_;

  std::mutex mutex_;  // guards the next eight
  std::string pending_;
  std::function<void()> resume_;  // resumes reading in the front end once there is room
  bool started_ = false;
  bool working_ = false;  // a task is on the pool, or on its way there
  bool over_ = false;     // the body
  Done done_;
  std::optional<schemas::Refusal> refusal_;
  bool closed_ = false;  // answered

  // Of the task.
  std::string bytes_;  // being parsed; its memory is used again
  front::FormReader reader_;
  Form form_;
  std::vector<PartPrint> part_digests_;
  PartKind kind_ = PartKind::kField;
  base::Sha256 hash_;  // of this part
  std::string head_;   // of the recording, until it was looked at
  std::unique_ptr<storage::BlobWriter> writer_;
  bool has_file_ = false;
  std::size_t file_digest_index_ = 0;  // its place among the prints
  std::optional<schemas::Refusal> problem_;
};

}  // namespace millrace::api
