#include "platform/base/base64.h"
#include "tests/unit/api/audio.h"

namespace millrace::api::test {
namespace {

TEST_F(Audio, ASynchronousRequestGetsTheTranscriptInItsForm) {
  start();
  const std::pair<const char*, const char*> forms[] = {{"json", "application/json"},
                                                       {"text", "text/plain; charset=utf-8"},
                                                       {"srt", "text/plain; charset=utf-8"},
                                                       {"vtt", "text/plain; charset=utf-8"},
                                                       {"verbose_json", "application/json"}};
  for (const auto& [form, type] : forms) {
    Connection client(server->port());
    const FormText wanted = good_form().field("response_format", form);
    client.send({.method = "POST",
                 .path = "/v1/audio/transcriptions",
                 .key = owner,
                 .body = wanted.text(),
                 .type = wanted.type()});
    const storage::ClaimedJob job = claimed();
    finish(job.lease, result_text(*schemas::transcript_format_named(form)));
    const Answer answer = client.answer();
    EXPECT_EQ(answer.status, 200) << form;
    EXPECT_EQ(answer.header("content-type"), type);
    EXPECT_EQ(answer.header("x-millrace-job"), job.lease.job.str());
    EXPECT_NE(answer.body.find("The mill turns."), std::string::npos);
    EXPECT_EQ(answer.body.find("\"model\":\"whisper-1\"") != std::string::npos, answer.body.starts_with('{'));
    const Answer later = get("/v1/jobs/" + job.lease.job.str() + "/result");
    EXPECT_EQ(later.body, answer.body);
    EXPECT_EQ(later.header("content-type"), type);
  }
}

TEST_F(Audio, AWaitThatEndsNamesTheJobThatGoesOn) {
  start({.stt_wait = std::chrono::milliseconds(1)});
  const Answer answer = transcribe(good_form());
  ASSERT_EQ(answer.status, 504);
  EXPECT_NE(answer.body.find("The recording takes longer"), std::string::npos);
  EXPECT_EQ(get("/v1/jobs/" + answer.header("x-millrace-job")).json()["status"], "queued");
}

TEST_F(Audio, APreferredWaitThatEndsIsAnsweredWithTheJob) {
  start({.stt_wait = std::chrono::milliseconds(1)});
  const Answer answer = transcribe(good_form(), "Prefer: respond-async, wait=5\r\n");
  ASSERT_EQ(answer.status, 202);
  EXPECT_EQ(answer.json()["kind"], "stt");
  EXPECT_EQ(answer.header("location"), "/v1/jobs/" + answer.header("x-millrace-job"));
}

TEST_F(Audio, APartialResultIsThePiecesSoFar) {
  start();
  const std::string path = "/v1/jobs/" + transcribe(good_form(), kAsync).header("x-millrace-job") + "/result";
  EXPECT_EQ(get(path).status, 202);
  EXPECT_EQ(get(path + "?partial=true").json()["text"], "");
  const storage::ClaimedJob job = claimed();
  part(job.lease, 0, piece_text(" The mill turns."));
  part(job.lease, 1, piece_text("It never stops."));
  const Answer partial = get(path + "?partial=true");
  EXPECT_EQ(partial.status, 200);
  EXPECT_EQ(partial.json()["text"], "The mill turns. It never stops.");
  EXPECT_EQ(partial.json()["model"], "whisper-1");
  finish(job.lease, result_text());
  EXPECT_EQ(get(path + "?partial=true").body, get(path).body);
}

TEST_F(Audio, APieceThatCannotBeReadIsNamedWithWhatToDo) {
  start();
  const std::string path = "/v1/jobs/" + transcribe(good_form(), kAsync).header("x-millrace-job") + "/result";
  const storage::ClaimedJob job = claimed();
  part(job.lease, 0, piece_text("The mill turns."));
  part(job.lease, 1, "no piece");
  const Answer partial = get(path + "?partial=true");
  EXPECT_EQ(partial.status, 500);
  const std::string message = partial.json()["error"]["message"];
  EXPECT_NE(message.find("Piece 1 "), std::string::npos) << message;
  EXPECT_NE(message.find("send the recording again"), std::string::npos) << message;
}

TEST_F(Audio, APartialResultHasTheFormThatWasAskedFor) {
  start();
  const FormText form = good_form().field("response_format", "text");
  const std::string path = "/v1/jobs/" + transcribe(form, kAsync).header("x-millrace-job") + "/result";
  part(claimed().lease, 0, piece_text(" The mill turns."));
  EXPECT_EQ(get(path + "?partial=true").body, "The mill turns.\n");
  EXPECT_EQ(get(path + "?partial=true&format=json").json()["text"], "The mill turns.");
}

TEST_F(Audio, AReaderMayChooseAnotherFormOfAResultAndTheStoredFormStays) {
  start();
  const FormText form = good_form().field("response_format", "text");
  const std::string path = "/v1/jobs/" + transcribe(form, kAsync).header("x-millrace-job") + "/result";
  finish(claimed().lease, result_text(schemas::TranscriptFormat::kText));
  const std::string asked_for = "The mill turns. It never stops.\n";
  EXPECT_EQ(get(path).body, asked_for);
  const Answer verbose = get(path + "?format=verbose_json");
  EXPECT_EQ(verbose.header("content-type"), "application/json");
  EXPECT_EQ(verbose.json()["segments"][0]["end"], 1.25) << verbose.body;
  EXPECT_EQ(get(path + "?format=srt").body, "1\n00:00:00,000 --> 00:00:01,250\nThe mill turns.\n\n");
  EXPECT_EQ(get(path + "?format=json&partial=true").json()["duration"], 2.5);
  EXPECT_EQ(get(path).body, asked_for);
  EXPECT_EQ(get(path + "?format=").body, asked_for) << "an empty value counts as absent";
  EXPECT_EQ(get(path + "?format=docx").status, 422);
}

// A piece in which a speaker says a text.
std::string spoken_text(const std::string& speaker, const std::string& text) {
  schemas::TranscriptSegment segment;
  segment.end = 1;
  segment.text = text;
  segment.speaker = speaker;
  return schemas::to_json(schemas::TranscriptPiece{{segment}, {}, std::nullopt});
}

TEST_F(Audio, SpeakersAreReadOnlyIfTheTranscriptHasThem) {
  start();
  const auto submitted = [this] {
    return "/v1/jobs/" + transcribe(good_form(), kAsync).header("x-millrace-job") + "/result";
  };
  std::string path = submitted();
  storage::ClaimedJob job = claimed();
  part(job.lease, 0, spoken_text("A", "Hello."));
  const Answer diarized = get(path + "?partial=true&format=diarized_json");
  EXPECT_EQ(diarized.json()["segments"],
            json::parse(R"([{"type":"transcript.text.segment","id":"seg_0","start":0.0,"end":1.0,)"
                        R"("text":"Hello.","speaker":"A"}])"))
      << diarized.body;
  finish(job.lease, result_text());
  EXPECT_EQ(get(path + "?format=srt").status, 200);
  const Answer none = get(path + "?format=diarized_json");
  EXPECT_EQ(none.status, 422);
  EXPECT_EQ(none.json()["error"]["param"], "format") << none.body;
  EXPECT_NE(none.body.find("names no speakers"), std::string::npos) << none.body;
}

TEST_F(Audio, TheLocalEngineTellsNoSpeakersApart) {
  start();
  const Answer answer = transcribe(good_form().field("response_format", "diarized_json"), kAsync);
  EXPECT_EQ(answer.status, 422);
  EXPECT_EQ(answer.json()["detail"][0]["loc"], json::parse(R"(["body","response_format"])")) << answer.body;
  EXPECT_NE(answer.body.find("gpt-4o-transcribe-diarize"), std::string::npos) << answer.body;
  EXPECT_NE(answer.body.find("set stt.speakers"), std::string::npos) << answer.body;
  EXPECT_TRUE(leaves_nothing());
  const FormText cut = good_form().field("chunking_strategy", "auto");
  EXPECT_EQ(transcribe(cut, kAsync).header("x-millrace-dropped-params"), "chunking_strategy");
  EXPECT_EQ(transcribe(cut, kAsync, "?strict=true").status, 400);
}

TEST_F(Audio, WithModelsForThemTheLocalEngineTellsSpeakersApart) {
  start({.tells_speakers_apart = true});
  const std::string reference = "data:audio/wav;base64," + base::base64_encode(wav_of(100));
  const auto form = [&](const char* format) {
    return good_form()
        .field("response_format", format)
        .field("known_speaker_names[]", "Ann")
        .field("known_speaker_references[]", reference);
  };
  const Answer diarized = transcribe(form("diarized_json"), kAsync);
  EXPECT_EQ(diarized.status, 202) << diarized.body;
  EXPECT_EQ(diarized.header("x-millrace-dropped-params"), "");
  const storage::ClaimedJob job = claimed();
  EXPECT_NE(job.spec.find("\"Ann\""), std::string::npos) << job.spec;
  const Answer plain = transcribe(form("json"), kAsync);
  EXPECT_EQ(plain.header("x-millrace-dropped-params"), "known_speaker_names, known_speaker_references");
}

// A piece in which two voices say a word each.
std::string piece_of_voices(const std::string& first, const std::string& second) {
  schemas::TranscriptPiece piece;
  for (const std::string& text : {first, second}) {
    schemas::TranscriptSegment& segment = piece.segments.emplace_back();
    segment.text = text;
    segment.voice = static_cast<int>(piece.voices.size());
    piece.voices.push_back({piece.voices.empty() ? std::vector<float>{1, 0} : std::vector<float>{0, 1}, 5});
  }
  return schemas::to_json(piece);
}

TEST_F(Audio, APartialResultHasTheSpeakersSoFar) {
  start({.tells_speakers_apart = true});
  const FormText form = good_form().field("response_format", "diarized_json");
  const std::string path = "/v1/jobs/" + transcribe(form, kAsync).header("x-millrace-job") + "/result";
  const storage::ClaimedJob job = claimed();
  part(job.lease, 0, piece_of_voices("Yes.", "No."));
  part(job.lease, 1, piece_of_voices("Ah.", "Oh."));
  const json segments = get(path + "?partial=true").json()["segments"];
  std::string speakers;
  for (const json& each : segments) speakers += each["speaker"].get<std::string>();
  EXPECT_EQ(speakers, "ABAB");
  EXPECT_EQ(segments.dump().find("embedding"), std::string::npos);
}

TEST_F(Audio, PiecesOfARecordingAreReadByTheirNumbers) {
  start();
  const std::string path = "/v1/jobs/" + transcribe(good_form(), kAsync).header("x-millrace-job") + "/result";
  const storage::ClaimedJob job = claimed();
  part(job.lease, 0, piece_text("The mill turns."));
  part(job.lease, 1, piece_text("It never stops."));
  EXPECT_EQ(get(path + "?partial=true&pages=1&format=verbose_json").json()["text"], "It never stops.");
}

}  // namespace
}  // namespace millrace::api::test
