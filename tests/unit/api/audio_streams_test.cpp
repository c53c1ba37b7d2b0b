#include "tests/support/wait_until.h"
#include "tests/unit/api/audio.h"

namespace millrace::api::test {
namespace {

using base::Code;

TEST_F(Audio, AStreamSaysThePiecesInOrderAndThenTheWhole) {
  start();
  const FormText form = good_form().field("stream", "true").field("color", "red");
  Connection client(server->port());
  client.send({.method = "POST",
               .path = "/v1/audio/transcriptions",
               .key = owner,
               .body = form.text(),
               .type = form.type()});
  const storage::Claimed job = claimed();
  part(job.lease, 1, piece_text("It never stops."));
  part(job.lease, 0, piece_text(" The mill turns."));
  ASSERT_TRUE(client.saw(R"({"type":"transcript.text.delta","delta":"The mill turns."})"));
  ASSERT_TRUE(client.saw(R"({"type":"transcript.text.delta","delta":" It never stops."})"));
  finish(job.lease, result_text());
  const Answer answer = client.answer();
  EXPECT_EQ(answer.status, 200);
  EXPECT_EQ(answer.header("content-type"), "text/event-stream");
  EXPECT_EQ(answer.header("x-millrace-job"), job.lease.job.str());
  EXPECT_EQ(answer.header("x-millrace-dropped-params"), "color");
  EXPECT_NE(answer.body.find(R"({"type":"transcript.text.done","text":"The mill turns. It never stops.",)"
                             R"("usage":{"seconds":3,"type":"duration"}})"),
            std::string::npos)
      << answer.body;
}

TEST_F(Audio, AStreamOfAJobWithoutPiecesSaysItsTextAtTheEnd) {
  start();
  const FormText form = good_form().field("stream", "true");
  Connection client(server->port());
  client.send({.method = "POST",
               .path = "/v1/audio/transcriptions",
               .key = owner,
               .headers = "Idempotency-Key: k\r\n",
               .body = form.text(),
               .type = form.type()});
  finish(claimed().lease, result_text());
  const Answer answer = client.answer();
  EXPECT_NE(answer.body.find(R"("delta":"The mill turns. It never stops.")"), std::string::npos);
  const Answer again = transcribe(form, "Idempotency-Key: k\r\n");
  EXPECT_EQ(again.body, answer.body);
  EXPECT_EQ(again.header("idempotent-replayed"), "true");
}

TEST_F(Audio, AStreamThatHasNotBegunFailsAsAnyRequest) {
  start();
  const FormText form = good_form().field("stream", "true");
  Connection client(server->port());
  client.send({.method = "POST",
               .path = "/v1/audio/transcriptions",
               .key = owner,
               .body = form.text(),
               .type = form.type()});
  fail(claimed().lease, Code::kAudioDamaged, "the recording is damaged");
  const Answer answer = client.answer();
  EXPECT_EQ(code(answer), "422 audio_damaged");
  EXPECT_EQ(answer.header("x-should-retry"), "false");
}

TEST_F(Audio, AStreamThatHasBegunEndsWithAnEvent) {
  start();
  const FormText form = good_form().field("stream", "true");
  Connection client(server->port());
  client.send({.method = "POST",
               .path = "/v1/audio/transcriptions",
               .key = owner,
               .body = form.text(),
               .type = form.type()});
  const storage::Claimed job = claimed();
  part(job.lease, 0, piece_text("The mill turns."));
  ASSERT_TRUE(client.saw("The mill turns."));
  fail(job.lease, Code::kWorkerLost, "the worker was lost");
  const Answer answer = client.answer();
  EXPECT_EQ(answer.status, 200);
  EXPECT_NE(answer.body.find("event: error\ndata: {\"error\":"), std::string::npos);
  EXPECT_EQ(answer.body.find("transcript.text.done"), std::string::npos);
}

TEST_F(Audio, DrainingEndsAStreamWithTheJobsName) {
  start();
  const FormText form = good_form().field("stream", "true");
  Connection client(server->port());
  client.send({.method = "POST",
               .path = "/v1/audio/transcriptions",
               .key = owner,
               .body = form.text(),
               .type = form.type()});
  const std::string job = claimed().lease.job.str();
  ASSERT_TRUE(support::wait_until([&] { return waiters->count() == 1; }));
  service->drain();
  const Answer answer = client.answer();
  EXPECT_EQ(answer.status, 504);
  EXPECT_NE(answer.body.find(job), std::string::npos);
}

}  // namespace
}  // namespace millrace::api::test
