#pragma once
#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "ai/engines/speech/recording.h"
#include "ai/engines/speech/transcriber.h"
#include "platform/base/result.h"
#include "schemas/media/speaker_names.h"
#include "schemas/media/transcription.h"
#include "storage/jobs/job_claims.h"
#include "workers/runner.h"

// The blocking steps of a transcription; they run on the pool. base::Code::kOverloaded is a temporary error
// of the gateway.
namespace millrace::workers {

// A job as it was read from the store.
struct SttTask {
  schemas::TranscriptionSpec spec;
  std::shared_ptr<const engines::Recording> recording;  // null: its children have processed all of it
  std::vector<int> finished;                            // pieces whose part an earlier attempt has stored
  std::chrono::milliseconds engine_time{0};             // used for the root job so far
};
base::Result<SttTask> open_recording_task(storage::Store& store, const storage::ClaimedJob& job);

// The recording of a known speaker, from its data URI. kInvalidField: it cannot be one.
base::Result<std::shared_ptr<const engines::Recording>> reference_recording(const std::string& data_uri,
                                                                            const std::string& tenant);

// Splits the pieces into `shares` children of lengths as equal as possible. REQUIRES: `shares` is at most the
// number of pieces.
std::vector<storage::ChildSpec> piece_shares(const schemas::TranscriptionSpec& spec,
                                             const engines::RecordingInfo& info, int shares,
                                             base::WallTime now);

// Converts a provider's transcript of a whole recording to the one piece that is stored. A text without
// segments becomes one segment for the whole recording.
schemas::TranscriptPiece whole_piece(const schemas::Transcript& transcript);

// The input of assemble_transcript.
struct TranscriptPlan {
  schemas::TranscriptionSpec spec;
  std::vector<int> pieces;        // the pieces of this attempt
  bool by_children = false;       // children processed the pieces; their specs have the pieces and the length
  std::string language;           // unless the pieces have one; empty: not known
  std::optional<double> seconds;  // the recording's length
  std::vector<schemas::KnownSpeaker> known_speakers = {};
};
// How a job ended, with a warning for its owner.
struct Transcribed {
  Outcome outcome;
  std::string warning;  // empty: none
  double seconds = 0;   // the recording's length; 0: nothing was transcribed
};
// Ends a root job from the parts in the store. The text of pieces without a part is missing; `warning` names
// their times. If no piece succeeded, the job fails with the first piece's error.
base::Result<Transcribed> assemble_transcript(storage::Store& store, const storage::ClaimedJob& job,
                                              const TranscriptPlan& plan);
// The end of a job with the transcript that a provider has just returned; its length is counted already.
base::Result<Transcribed> whole_transcript(storage::Store& store, const schemas::Transcript& transcript,
                                           const schemas::TranscriptStyle& style);

}  // namespace millrace::workers
