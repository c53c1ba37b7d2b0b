#include <map>
#include <utility>

#include "jobs/policy.h"
#include "storage/job_queries.h"
#include "workers/payload.h"
#include "workers/stepped_run.h"
#include "workers/stt_task.h"

namespace millrace::workers {
namespace {

using base::Code;
using schemas::SpokenPiece;

base::Error piece_unheard() { return base::error(Code::kPieceFailed, "the piece could not be recognised"); }

base::Error stored_piece_lost(int index, const base::Error& why) {
  return base::error(Code::kInternal, "piece " + std::to_string(index) +
                                          " was heard, but what was stored of it cannot be read (" +
                                          why.message + "): send the recording again");
}

// A share that failed as a whole: its own word if it is about the recording, else only that the piece failed.
base::Error piece_error(const std::optional<schemas::JobError>& error) {
  if (!error) return piece_unheard();
  constexpr int kUnprocessable = 422;
  const Code code = base::info(error->code).http_status == kUnprocessable ? error->code : Code::kPieceFailed;
  return base::error(code, error->message);
}

// What the transcript is made of: its pieces in order, why those without a part have none, its length.
struct Expected {
  std::map<int, base::Error> pieces;
  std::map<int, schemas::AudioPiece> places;  // as far as they are known
  std::optional<double> seconds;
};

double seconds_of(std::int64_t ms) { return static_cast<double>(ms) / 1000; }

base::Result<Expected> expected_of_children(storage::JobQueries& queries, const schemas::JobId& root) {
  const auto children = queries.children(root);
  if (!children) return children.error();
  Expected expected;
  for (const auto& child : *children) {
    const auto spec = schemas::transcription_spec_from_json(child.spec);
    if (!spec) return spec.error();
    expected.seconds = seconds_of(spec->recording_ms);
    for (const schemas::AudioPiece& piece : spec->pieces) {
      expected.pieces.emplace(piece.index, piece_error(child.error));
      expected.places.emplace(piece.index, piece);
    }
  }
  return expected;
}

base::Result<Expected> expected_of(storage::JobQueries& queries, const schemas::JobId& root,
                                   const TranscriptPlan& plan) {
  if (plan.by_children) return expected_of_children(queries, root);
  Expected expected;
  expected.seconds = plan.seconds;
  for (const int piece : plan.pieces) expected.pieces.emplace(piece, piece_unheard());
  return expected;
}

using Stored = std::map<int, storage::StoredPayload>;

base::Result<Stored> stored_pieces(storage::JobQueries& queries, const schemas::JobId& root) {
  auto parts = queries.all_parts(root);
  if (!parts) return parts.error();
  Stored stored;
  for (storage::StoredPart& part : *parts) stored.emplace(part.index, std::move(part.payload));
  return stored;
}

base::Result<SpokenPiece> piece_of(storage::Store& store, Stored& stored, int index,
                                   const base::Error& why_not) {
  const auto part = stored.find(index);
  if (part == stored.end()) return SpokenPiece{{}, {}, why_not};
  const auto json = bytes_of(store.blobs(), std::move(part->second));
  if (!json && jobs::is_ours(json.error())) return json.error();
  auto piece = json ? schemas::piece_from_json(*json) : json.error();
  if (!piece) return stored_piece_lost(index, piece.error());
  return piece;
}

// "1:02:03", or "2:03".
std::string clock_text(std::int64_t ms) {
  const std::int64_t seconds = ms / 1000, hours = seconds / 3600;
  const auto two = [](std::int64_t n) { return (n < 10 ? "0" : "") + std::to_string(n); };
  std::string rest = std::to_string(seconds / 60 % 60) + ":" + two(seconds % 60);
  if (hours == 0) return rest;
  return std::to_string(hours) + ":" + two(seconds / 60 % 60) + ":" + two(seconds % 60);
}

std::string place_text(const Expected& expected, int index) {
  const auto place = expected.places.find(index);
  if (place == expected.places.end()) return "piece " + std::to_string(index);
  return "from " + clock_text(place->second.start_ms) + " to " + clock_text(place->second.end_ms);
}

// The pieces on their way into one transcript.
struct Gathered {
  std::vector<SpokenPiece> pieces;
  std::optional<base::Error> first_error;
  int failed = 0;
  std::string first_place;

  void add(SpokenPiece piece, const Expected& expected, int index) {
    if (piece.error) {
      if (failed++ == 0) {
        first_error = piece.error;
        first_place = place_text(expected, index);
      }
    }
    pieces.push_back(std::move(piece));
  }
  bool all_failed() const { return failed > 0 && failed == static_cast<int>(pieces.size()); }
  std::string warning() const {
    if (failed == 0) return {};
    const std::string count = std::to_string(failed) + " of " + std::to_string(pieces.size()) + " pieces";
    return count + " could not be recognised and are missing, the first " + first_place + ": " +
           first_error->message;
  }
};

}  // namespace

base::Result<Outcome> finished_transcript(storage::Store& store, const schemas::Transcript& transcript,
                                          const schemas::TranscriptStyle& style) {
  const std::string json = schemas::to_json(transcript, style);
  PayloadWriter out(store.blobs(), static_cast<std::int64_t>(json.size()));
  if (auto written = out.append(json); !written) return written.error();
  auto payload = out.finish();
  if (!payload) return payload.error();
  return Outcome(Done{std::move(*payload)});
}

base::Result<Transcribed> assemble_transcript(storage::Store& store, const storage::Claimed& job,
                                              const TranscriptPlan& plan) {
  storage::JobQueries queries(store);
  const auto expected = expected_of(queries, job.lease.job, plan);
  if (!expected) return expected.error();
  auto stored = stored_pieces(queries, job.lease.job);
  if (!stored) return stored.error();
  Gathered gathered;
  for (const auto& [index, error] : expected->pieces) {
    auto piece = piece_of(store, *stored, index, error);
    if (!piece) return piece.error();
    gathered.add(*std::move(piece), *expected, index);
  }
  if (gathered.all_failed()) return Transcribed{Fail{*gathered.first_error, {}}, {}};
  const schemas::Transcript transcript = schemas::join(gathered.pieces, plan.language, expected->seconds);
  auto outcome = finished_transcript(store, transcript, plan.spec.style);
  if (!outcome) return outcome.error();
  return Transcribed{std::move(*outcome), gathered.warning()};
}

}  // namespace millrace::workers
