#pragma once
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "ai/engines/speech/recording.h"
#include "ai/engines/speech/transcriber.h"
#include "platform/base/result.h"
#include "schemas/media/transcription.h"
#include "storage/jobs/job_claims.h"
#include "workers/runner.h"

// The blocking steps of a transcription (pool). Errors with base::Code::kOverloaded are ours and pass by.
namespace millrace::workers {

// A job as it was read from the store.
struct SttTask {
  schemas::TranscriptionSpec spec;
  std::shared_ptr<const engines::Recording> recording;  // null: its children have done it all
  std::vector<int> finished;                            // pieces that have a part, from an earlier attempt
};
base::Result<SttTask> open_recording_task(storage::Store& store, const storage::Claimed& job);

// So many shares of the pieces, as long as each other as can be, one child for each. REQUIRES: no more than
// there are pieces.
std::vector<storage::ChildSpec> piece_shares(const schemas::TranscriptionSpec& spec,
                                             const engines::RecordingInfo& info, int shares,
                                             base::WallTime now);

// A whole recording as a model told it, as the one piece that it is stored as: a text without segments is a
// segment of the whole.
schemas::SpokenPiece whole_piece(const schemas::Transcript& transcript);

// What a transcript is made of.
struct TranscriptPlan {
  schemas::TranscriptionSpec spec;
  std::vector<int> pieces;        // that this attempt worked on
  bool by_children = false;       // they were shared out: the children's specs say them, and the length
  std::string language;           // that was heard; empty: not known
  std::optional<double> seconds;  // of the recording
};
// How a job ended, and what its owner should know beside.
struct Transcribed {
  Outcome outcome;
  std::string warning;  // empty: nothing
};
// The end of a root job from the parts in the store: what pieces without one would have said is missing, and
// `warning` tells when; if no piece is good, the job fails with the first one's error.
base::Result<Transcribed> assemble_transcript(storage::Store& store, const storage::Claimed& job,
                                              const TranscriptPlan& plan);
// The result of a transcript that is there as a whole.
base::Result<Outcome> finished_transcript(storage::Store& store, const schemas::Transcript& transcript,
                                          const schemas::TranscriptStyle& style);

}  // namespace millrace::workers
