#pragma once
#include <chrono>
#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string>
#include <vector>

#include "schemas/batches/batch.h"
#include "storage/blobs/blobs.h"
#include "storage/jobs/idempotent_call.h"
#include "storage/jobs/job_outcomes.h"
#include "storage/jobs/job_queries.h"
#include "storage/store.h"
#include "storage/writer/writer.h"

namespace millrace::storage {

// How long a process drives a batch after its last claim.
inline constexpr std::chrono::milliseconds kBatchLease{5'000};

struct NewBatch {
  schemas::Batch about;  // its input is `input_file`, or
  Staged input{};        // these lines
  int open_max = 0;      // batches of the tenant that may be open at a time
};

struct BatchListQuery {
  int limit = 0;
  int skip = 0;
  std::optional<base::Uuid> after{};  // older than this one
};

// The batches of clients, by tenant. A batch keeps the content of its input file until it is over, even if
// the file is deleted. Writes never block; reads block: for pool threads.
class Batches {
 public:
  explicit Batches(Store& store) : store_(store) {}

  // kNotFound: the tenant has no such file. kQuotaExceeded: `open_max`.
  void add(NewBatch batch, IdempotentCall call, Callback<CallReply> done);
  base::Result<schemas::Batch> batch(const std::string& tenant, const base::Uuid& id);  // kNotFound
  base::Result<std::vector<schemas::Batch>> list(const std::string& tenant, const BatchListQuery& query);
  base::Result<std::int64_t> count(const std::string& tenant, std::int64_t most);
  // A batch that is not over becomes `cancelling`, and its driver ends it; one that is cancelled already is
  // shown. kInvalidState: it has ended otherwise, or writes its files. `reply`: in the shape of this API.
  void cancel(base::Uuid id, IdempotentCall call, ReplyBuilder<schemas::Batch> reply,
              Callback<CallReply> done);
  // The lines of an output that exist so far, in the order of completion, after `after`; at most `limit`.
  struct OutputLine {
    std::int64_t sequence = 0;
    StoredPayload payload;
  };
  base::Result<std::vector<OutputLine>> outputs(const base::Uuid& id, bool is_error, std::int64_t after,
                                                int limit);

  // The output that becomes this file when its batch ends; nullopt: there is none.
  struct OpenOutput {
    base::Uuid batch;
    bool is_error = false;
  };
  base::Result<std::optional<OpenOutput>> open_output(const std::string& tenant, const base::Uuid& file);

  // Deletes what batches that are over no longer need: their outputs, which are files now, and the batches
  // that ended before `age`.
  void drop_ended(std::chrono::milliseconds age, int limit, Callback<int> done);

 private:
  Store& store_;
};

base::Error no_such_batch();  // kNotFound

// The batches that one process drives. Every write requires that it still does, and that the batch is in a
// state in which it may happen: kInvalidState otherwise.
// Blocks; for the thread of the driver.
class DrivenBatches {
 public:
  // `driver`: an id of this process, new for each run of it.
  DrivenBatches(Store& store, base::Uuid driver) : store_(store), driver_(driver) {}
  const base::Uuid& driver() const { return driver_; }

  // Takes open batches that nobody drives, and keeps those of this process for kBatchLease from now on.
  // Returns the ids of all of them.
  base::Result<std::vector<base::Uuid>> claim(int most);
  base::Result<bool> has_open();  // batches of anybody
  base::Status renew();           // of those of this process, for kBatchLease
  base::Status release();

  struct Driven {
    schemas::Batch batch;
    std::string tenant, key_id;
    std::optional<BlobRef> input;  // absent: it cannot be found
  };
  base::Result<Driven> find(const base::Uuid& id);

  // The lines of its input.
  struct Line {
    std::int64_t number = 0;  // from 1
    std::string custom_id;
    std::int64_t starts_at = 0, bytes = 0;
  };
  // Deletes the lines of a validation that did not end; false: some are left.
  base::Result<bool> drop_lines(const base::Uuid& id);
  base::Status add_lines(const base::Uuid& id, const std::vector<Line>& lines);
  base::Status begin(const base::Uuid& id, std::int64_t total);  // its input is valid
  base::Status fail(const base::Uuid& id, const std::vector<schemas::BatchError>& errors, std::int64_t total);
  // No further line is submitted. `why`: added to the errors.
  base::Status begin_cancel(const base::Uuid& id, const schemas::BatchError& why);

  // Lines that were not submitted yet, after this number.
  base::Result<std::vector<Line>> pending(const base::Uuid& id, std::int64_t after, int limit);
  struct SubmittedLine {
    std::int64_t number = 0;
    std::string custom_id;
    schemas::JobId job;
    bool is_lost = false;  // the job was deleted
    bool has_succeeded = false;
  };
  // Lines whose jobs have ended, in the order of their ends.
  base::Result<std::vector<SubmittedLine>> ended(const base::Uuid& id, int limit);
  // Lines whose jobs are open, after this number.
  base::Result<std::vector<SubmittedLine>> open(const base::Uuid& id, std::int64_t after, int limit);
  // Lines that are jobs and have not ended here, at most `most`.
  base::Result<int> submitted_count(const base::Uuid& id, int most);

  struct LineEnd {
    std::int64_t number = 0;
    bool has_succeeded = false;
    Payload output;  // a line of the output or the error file
    schemas::BatchUsage usage{};
    std::optional<schemas::NanoUsd> cost = 0;  // absent: unknown; what was reserved for the line counts
  };
  // Each line ends once: what has ended before is left out.
  base::Status end_lines(const base::Uuid& id, const std::vector<LineEnd>& ends);
  // False: not all lines have ended, and nothing was changed.
  base::Result<bool> finalize(const base::Uuid& id);
  // The batch is over, with these files; null: there is none.
  base::Status complete(const base::Uuid& id, schemas::BatchStatus status, const Staged& output,
                        const Staged& errors);

 private:
  template <class Run>
  base::Status write(const base::Uuid& id, std::initializer_list<schemas::BatchStatus> expected, Run run,
                     std::size_t bytes = 0, Writer::Priority priority = Writer::Priority::kInteractive);

  Store& store_;
  const base::Uuid driver_;
};

}  // namespace millrace::storage
