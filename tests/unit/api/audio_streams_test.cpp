#include <optional>

#include "tests/support/wait_until.h"
#include "tests/unit/api/audio.h"

namespace millrace::api::test {
namespace {

using base::Code;

class AudioStreams : public Audio {
 protected:
  // Sends a form that requests a stream. The test reads the response from `client`.
  void send_request(const FormText& form = streamed_form(), const std::string& headers = {}) {
    start({.tells_speakers_apart = true});
    client.emplace(server->port());
    client->send({.method = "POST",
                  .path = "/v1/audio/transcriptions",
                  .key = owner,
                  .headers = headers,
                  .body = form.text(),
                  .type = form.type()});
  }
  static FormText streamed_form() { return good_form().field("stream", "true"); }

  std::optional<Connection> client;
};

TEST_F(AudioStreams, AStreamSaysThePiecesInOrderAndThenTheWhole) {
  send_request(streamed_form().field("color", "red"));
  const storage::ClaimedJob job = claimed();
  part(job.lease, 1, piece_text("It never stops."));
  part(job.lease, 0, piece_text(" The mill turns."));
  ASSERT_TRUE(client->saw(R"({"type":"transcript.text.delta","delta":"The mill turns."})"));
  ASSERT_TRUE(client->saw(R"({"type":"transcript.text.delta","delta":" It never stops."})"));
  finish(job.lease, result_text());
  const Answer answer = client->answer();
  EXPECT_EQ(answer.status, 200);
  EXPECT_EQ(answer.header("content-type"), "text/event-stream");
  EXPECT_EQ(answer.header("x-millrace-job"), job.lease.job.str());
  EXPECT_EQ(answer.header("x-millrace-dropped-params"), "color");
  EXPECT_NE(answer.body.find(R"({"type":"transcript.text.done","text":"The mill turns. It never stops.",)"
                             R"("usage":{"type":"duration","seconds":3}})"),
            std::string::npos)
      << answer.body;
}

// A segment with a speaker; the recogniser of a piece knows only his voice.
schemas::TranscriptSegment said(const std::string& text, const std::string& speaker) {
  schemas::TranscriptSegment segment;
  segment.text = text;
  segment.speaker = speaker;
  segment.voice = speaker.empty() ? 0 : schemas::TranscriptSegment::kNoVoice;
  return segment;
}

TEST_F(AudioStreams, TextIsStreamedBeforeTheSpeakersAreKnown) {
  send_request(streamed_form().field("response_format", "diarized_json"));
  const storage::ClaimedJob job = claimed();
  part(job.lease, 0, schemas::to_json(schemas::TranscriptPiece{{said("The mill turns.", "")}, {}, {}}));
  ASSERT_TRUE(
      client->saw(R"({"type":"transcript.text.delta","delta":"The mill turns.","segment_id":"seg_0"})"));
  const schemas::Transcript whole{.language = "english",
                                  .seconds = 2.5,
                                  .text = "The mill turns. It never stops.",
                                  .segments = {said("The mill turns.", "A"), said("It never stops.", "B")},
                                  .words = {}};
  finish(job.lease, schemas::to_json(whole, {.form = schemas::TranscriptFormat::kDiarizedJson}));
  const std::string body = client->answer().body;
  std::string order;
  for (std::size_t at = body.find(R"("type":")"); at != std::string::npos;
       at = body.find(R"("type":")", at + 1)) {
    const std::string_view type = std::string_view(body).substr(at + 8, 23);
    order += type.starts_with("transcript.text.delta")     ? 'd'
             : type.starts_with("transcript.text.segment") ? 's'
                                                           : '.';
  }
  EXPECT_EQ(order, "ddss..") << body;  // the usage has a type, too
  EXPECT_NE(body.find(R"("text":"It never stops.","speaker":"B")"), std::string::npos) << body;
}

TEST_F(AudioStreams, AStreamOfAJobWithoutPiecesSaysItsTextAtTheEnd) {
  send_request(streamed_form(), "Idempotency-Key: k\r\n");
  finish(claimed().lease, result_text());
  const Answer answer = client->answer();
  EXPECT_NE(answer.body.find(R"("delta":"The mill turns. It never stops.")"), std::string::npos);
  const Answer again = transcribe(streamed_form(), "Idempotency-Key: k\r\n");
  EXPECT_EQ(again.body, answer.body);
  EXPECT_EQ(again.header("idempotent-replayed"), "true");
}

TEST_F(AudioStreams, AStreamThatHasNotBegunFailsAsAnyRequest) {
  send_request();
  fail(claimed().lease, Code::kAudioDamaged, "the recording is damaged");
  const Answer answer = client->answer();
  EXPECT_EQ(code(answer), "422 audio_damaged");
  EXPECT_EQ(answer.header("x-should-retry"), "false");
}

TEST_F(AudioStreams, AStreamThatHasBegunEndsWithAnEvent) {
  send_request();
  const storage::ClaimedJob job = claimed();
  part(job.lease, 0, piece_text("The mill turns."));
  ASSERT_TRUE(client->saw("The mill turns."));
  fail(job.lease, Code::kWorkerLost, "the worker was lost");
  const Answer answer = client->answer();
  EXPECT_EQ(answer.status, 200);
  EXPECT_NE(answer.body.find("event: error\ndata: {\"error\":"), std::string::npos);
  EXPECT_EQ(answer.body.find("transcript.text.done"), std::string::npos);
}

TEST_F(AudioStreams, DrainingEndsAStreamWithTheJobsName) {
  send_request();
  const std::string job = claimed().lease.job.str();
  ASSERT_TRUE(support::wait_until([&] { return waiters->count() == 1; }));
  service->drain();
  const Answer answer = client->answer();
  EXPECT_EQ(answer.status, 504);
  EXPECT_NE(answer.body.find(job), std::string::npos);
}

}  // namespace
}  // namespace millrace::api::test
