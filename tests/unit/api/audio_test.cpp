#include "tests/unit/api/audio.h"

#include <thread>

#include "api/admission/upload.h"
#include "schemas/media/transcription.h"
#include "tests/support/wait_until.h"

namespace millrace::api::test {
namespace {

using nlohmann::json;

TEST_F(Audio, AFieldThatIsNotUtf8IsRefusedByName) {
  start();
  const Answer value = transcribe(good_form().field("prompt", "caf\xe9"));
  EXPECT_EQ(value.status, 400) << value.body;
  EXPECT_EQ(value.json()["error"]["param"], "prompt");
  EXPECT_EQ(transcribe(good_form().field("caf\xe9", "x")).status, 400);
  EXPECT_EQ(transcribe(good_form().field("prompt", "caf\xc3\xa9"), kAsync).status, 202);
}

TEST_F(Audio, ARecordingBecomesTheInputOfAJob) {
  start();
  for (const std::size_t bytes : {std::size_t{40}, std::size_t{4096}, std::size_t{3} << 20}) {
    const Answer answer = transcribe(FormText()
                                         .file(wav_of(bytes), "C:\\music\\b.wav")
                                         .field("language", "en")
                                         .field("model", "millrace/sphinx-en")
                                         .field("response_format", "srt"),
                                     kAsync);
    ASSERT_EQ(answer.status, 202) << answer.body;
    EXPECT_EQ(answer.json()["kind"], "stt");
    EXPECT_EQ(answer.json()["name"], "b.wav");
    EXPECT_EQ(get("/v1/jobs").json()["items"][0]["name"], "b.wav");
    EXPECT_EQ(answer.header("x-millrace-job").substr(0, 4), "stt-");
    const storage::ClaimedJob job = claimed();
    ASSERT_TRUE(job.input.has_value());
    EXPECT_EQ(*store->blobs().read(*job.input), wav_of(bytes));
    const auto spec = schemas::transcription_spec_from_json(job.spec);
    ASSERT_TRUE(spec.has_value());
    EXPECT_EQ(spec->model, "millrace/sphinx-en");
    EXPECT_EQ(spec->file_name, "b.wav");
    EXPECT_EQ(spec->language, "en");
    EXPECT_EQ(spec->style.form, schemas::TranscriptFormat::kSrt);
    EXPECT_FALSE(spec->style.translate || spec->by_provider);
  }
}

Options with_whisper() {
  Options options;
  options.transcription_models = schemas::LocalTranscriptionModels(
      true,
      {{.name = "whisper-base", .display_name = "Base", .languages = {"de", "en"}, .translates = true}});
  return options;
}

TEST_F(Audio, AConfiguredModelIsALocalOne) {
  start(with_whisper());
  const auto form = [](const char* model, const char* language) {
    return FormText().file(wav_of(40)).field("model", model).field("language", language);
  };
  ASSERT_EQ(transcribe(form("whisper-base", "de-DE"), kAsync).status, 202);
  const auto spec = schemas::transcription_spec_from_json(claimed().spec);
  EXPECT_EQ(spec->local_model, "whisper-base");
  EXPECT_EQ(spec->language, "de");
  const Answer refused = transcribe(form("whisper-1", "de"), kAsync);
  EXPECT_EQ(refused.status, 422) << refused.body;
  EXPECT_NE(refused.body.find("for German (de) use model 'whisper-base'"), std::string::npos) << refused.body;
  const json model = get("/v1/models/whisper-base").json();
  EXPECT_EQ(model["languages"], json({"de", "en"}));
  EXPECT_EQ(model["provider"], "millrace");
  const json list = get("/v1/models").json()["data"];
  std::vector<std::string> names;
  for (const json& each : list) {
    if (each["capabilities"]["transcription"] == true) names.push_back(each["id"]);
  }
  EXPECT_EQ(names, (std::vector<std::string>{"millrace/moonshine-en", "millrace/sphinx-en", "whisper-base"}));
}

TEST_F(Audio, WordTimesOfAnotherLanguageThanEnglishAreListed) {
  start(with_whisper());
  const auto form = [](const char* language) {
    return FormText()
        .file(wav_of(40))
        .field("model", "whisper-base")
        .field("language", language)
        .field("response_format", "verbose_json")
        .field("timestamp_granularities[]", "word");
  };
  const Answer german = transcribe(form("de"), kAsync);
  EXPECT_EQ(german.status, 202) << german.body;
  EXPECT_EQ(german.header("x-millrace-dropped-params"), "timestamp_granularities");
  EXPECT_EQ(transcribe(form("de"), kAsync, "?strict=true").status, 400);
  for (const char* may_be_english : {"en", ""})
    EXPECT_EQ(transcribe(form(may_be_english), kAsync, "?strict=true").status, 202) << may_be_english;
}

TEST_F(Audio, ThePartialTranscriptHasTheRequestedLanguage) {
  start(with_whisper());
  const FormText form = FormText()
                            .file(wav_of(40))
                            .field("model", "whisper-base")
                            .field("language", "de")
                            .field("response_format", "verbose_json");
  const std::string path = "/v1/jobs/" + transcribe(form, kAsync).header("x-millrace-job") + "/result";
  part(claimed().lease, 0, piece_text("Die Mühle dreht sich."));
  EXPECT_EQ(get(path + "?partial=true").json()["language"], "german");
}

TEST_F(Audio, AModelOfOneLanguageIsRememberedInItsJob) {
  Options options;
  options.transcription_models = schemas::LocalTranscriptionModels(
      true, {{.name = "french", .display_name = "French", .languages = {"fr"}}});
  start(options);
  ASSERT_EQ(transcribe(FormText().file(wav_of(40)).field("model", "french"), kAsync).status, 202);
  const auto spec = schemas::transcription_spec_from_json(claimed().spec);
  EXPECT_EQ(spec->model_language, "fr");
  EXPECT_EQ(spec->language, "");
}

TEST_F(Audio, AModelThatIsNotInstalledSaysHowToGetIt) {
  start();
  const Answer answer =
      transcribe(FormText().file(wav_of(40)).field("model", "millrace/moonshine-en"), kAsync);
  EXPECT_EQ(answer.status, 404) << answer.body;
  EXPECT_NE(answer.body.find("scripts/setup run"), std::string::npos) << answer.body;
  EXPECT_EQ(get("/v1/models/millrace/moonshine-en").status, 404);
}

TEST_F(Audio, ATranslationIsAJobOfItsOwnStyle) {
  start();
  ASSERT_EQ(translate(good_form(), kAsync).status, 202);
  EXPECT_TRUE(schemas::transcription_spec_from_json(claimed().spec)->style.translate);
}

TEST_F(Audio, TwentyFiveMegabytesAreTakenAndNoByteMore) {
  start();
  EXPECT_EQ(transcribe(good_form(25u << 20), kAsync).status, 202);
  const std::size_t before = files().size();
  const Answer answer = transcribe(good_form((25u << 20) + 1), kAsync);
  EXPECT_EQ(code(answer), "413 audio_too_large");
  EXPECT_NE(answer.body.find("25MiB"), std::string::npos);
  EXPECT_TRUE(support::wait_until([&] { return files().size() == before; }));
}

TEST_F(Audio, ABodyAboveTheLimitIsRefusedByItsHead) {
  start();
  Connection client(server->port());
  client.send_text("POST /v1/audio/transcriptions HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer " + owner +
                   "\r\nContent-Type: multipart/form-data; boundary=x\r\nContent-Length: 40000000\r\n\r\n");
  EXPECT_EQ(client.answer().status, 413);
}

TEST_F(Audio, FilesThatAreNoRecordingAreRefused) {
  start();
  const auto refused = [&](std::string_view content) {
    return code(transcribe(FormText().field("model", "whisper-1").file(content), kAsync));
  };
  EXPECT_EQ(refused(""), "422 audio_empty");
  EXPECT_EQ(refused("hello"), "422 audio_unsupported");
  EXPECT_EQ(refused("#EXTM3U\nfile:///etc/passwd\n"), "422 audio_unsupported");
  EXPECT_EQ(refused(std::string(1'000'000, 'x')), "422 audio_unsupported");
  EXPECT_TRUE(leaves_nothing());
}

TEST_F(Audio, AModelThatDoesNotTranscribeIs400) {
  start();
  for (const char* model : {"mock/chat", "millrace/ocr", "tts-1"}) {
    const Answer answer = transcribe(FormText().field("model", model).file(wav_of(99)), kAsync);
    EXPECT_EQ(answer.status, 400) << answer.body;
    EXPECT_EQ(answer.json()["error"]["message"],
              "model '" + std::string(model) + "' does not transcribe recordings");
  }
  EXPECT_EQ(transcribe(FormText().field("model", "none").file(wav_of(99)), kAsync).status, 404);
}

TEST_F(Audio, AFileIsRefusedWhileItStillComes) {
  start();
  know_key();
  Connection client(server->port());
  client.send_text("POST /v1/audio/transcriptions HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer " + owner +
                   "\r\nContent-Type: " + FormText().type() + "\r\nContent-Length: 20000000\r\n\r\n" +
                   FormText().file(std::string(100'000, 'x')).open());
  const std::jthread sender([&client] { client.send_text(std::string(19'000'000, 'x')); });
  EXPECT_EQ(code(client.answer()), "422 audio_unsupported");
}

TEST_F(Audio, FormsThatAreNoneAreRefused) {
  start();
  const auto refused = [&](const std::string& body, const std::string& type = FormText().type()) {
    return send(
        {.method = "POST", .path = "/v1/audio/transcriptions", .key = owner, .body = body, .type = type});
  };
  EXPECT_EQ(refused(good_form().text(), "application/json").status, 415);
  EXPECT_EQ(refused(good_form().text(), "").status, 415);
  EXPECT_EQ(refused(good_form().text(), "multipart/form-data").status, 400);
  const Answer open = refused(good_form().open());
  EXPECT_EQ(open.status, 400);
  EXPECT_NE(open.body.find("last boundary"), std::string::npos);
  EXPECT_EQ(refused(good_form().text(), "multipart/form-data; boundary=other").status, 400);
  EXPECT_EQ(refused("hello").status, 400);
  EXPECT_TRUE(leaves_nothing());
}

TEST_F(Audio, ABoundaryWithinTheFileIsPartOfIt) {
  start();
  const std::string content =
      wav_of(5000) + "\r\n--form-boundaryX\r\n--form-boundar\n--form-boundary" + wav_of(99);
  ASSERT_EQ(transcribe(FormText().file(content).field("model", "whisper-1"), kAsync).status, 202);
  EXPECT_EQ(*store->blobs().read(*claimed().input), content);
}

TEST_F(Audio, ThereIsOneFile) {
  start();
  const Answer two = transcribe(good_form().file(wav_of(99)), kAsync);
  EXPECT_EQ(code(two), "422 invalid_field");
  EXPECT_EQ(two.json()["detail"][0]["loc"], json::parse(R"(["body","file"])"));
  const Answer none = transcribe(FormText().field("model", "whisper-1"), kAsync);
  EXPECT_EQ(none.json()["detail"][0],
            json::parse(R"({"loc":["body","file"],"msg":"Field required","type":"missing"})"));
  const Answer empty = post("/v1/audio/translations", "");
  EXPECT_EQ(empty.status, 422);
  EXPECT_EQ(empty.json()["detail"].size(), 2u);
  EXPECT_TRUE(leaves_nothing());
}

TEST_F(Audio, AFieldHasABound) {
  start();
  const Answer answer = transcribe(good_form().field("prompt", std::string(1u << 20, 'x')), kAsync);
  EXPECT_EQ(answer.status, 422);
  EXPECT_EQ(answer.json()["detail"][0]["ctx"], json::parse(R"({"max_length":65536})"));
  EXPECT_TRUE(leaves_nothing());
}

TEST_F(Audio, OnlyReferencesOfSpeakersMayBeLarge) {
  start();
  const auto reply = [this](std::string_view name, std::size_t bytes, int count) {
    FormText form = good_form();
    for (int i = 0; i < count; ++i) form.field(name, std::string(bytes, 'x'));
    const Answer answer = transcribe(form, kAsync);
    EXPECT_EQ(answer.status, 422);
    const json problem = answer.json()["detail"][0];
    return problem["loc"].back().get<std::string>() + " " + problem["msg"].get<std::string>();
  };
  constexpr std::size_t kMax = schemas::kSpeakerReferenceMax;
  EXPECT_EQ(reply("known_speaker_references[]", kMax + 1, 1),
            "known_speaker_references[] String should have at most 1572864 bytes");
  EXPECT_EQ(reply("known_speaker_references", kMax, 5),
            "known_speaker_references The fields of the form should have at most 6400KiB together, without "
            "the file");
  EXPECT_NE(reply("known_speaker_references[]", kMax, 4).find("data URI"), std::string::npos);
  EXPECT_NE(reply("known_speaker_references[]", kMax, 1).find("data URI"), std::string::npos);
  EXPECT_EQ(reply("known_speaker_names[]", 70'000, 1),
            "known_speaker_names[] String should have at most 65536 bytes");
  EXPECT_TRUE(leaves_nothing());
}

TEST_F(Audio, WrongFieldsLeaveNothingOnTheDisk) {
  start();
  const Answer answer = translate(good_form().field("temperature", "1.5"), kAsync);
  EXPECT_EQ(answer.status, 422);
  EXPECT_EQ(answer.json()["detail"][0],
            json::parse(R"({"loc":["body","temperature"],"msg":"Input should be less than or equal to 1",
                            "type":"less_than_equal","input":1.5,"ctx":{"le":1}})"));
  EXPECT_EQ(transcribe(good_form().field("language", "de"), kAsync).status, 422);
  EXPECT_EQ(code(transcribe(FormText().field("model", "whisper-9").file(wav_of(99)), kAsync)),
            "404 model_not_found");
  EXPECT_TRUE(leaves_nothing());
}

TEST_F(Audio, AClientThatLeavesLeavesNothing) {
  start();
  know_key();
  {
    Connection client(server->port());
    client.send_text("POST /v1/audio/transcriptions HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer " + owner +
                     "\r\nContent-Type: " + FormText().type() + "\r\nContent-Length: 9000000\r\n\r\n" +
                     good_form(2'000'000).open());
    ASSERT_TRUE(support::wait_until([&] { return !files().empty(); }));
  }
  EXPECT_TRUE(leaves_nothing());
  EXPECT_TRUE(get("/v1/jobs").json()["items"].empty());
}

TEST_F(Audio, BytesOfAnUnknownKeyStayOffTheDisk) {
  start();
  const std::string head =
      "POST /v1/audio/transcriptions HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer mr_live_none" +
      std::string("\r\nContent-Type: ") + FormText().type();
  const std::string body = good_form(2'000'000).text();
  Connection client(server->port());
  client.send_text(head + "\r\nContent-Length: " + std::to_string(body.size()) + "\r\n\r\n" + body);
  EXPECT_EQ(client.answer().status, 401);
  EXPECT_TRUE(files().empty());
}

TEST_F(Audio, AKeyThatIsNewIsLookedUpAndItsRecordingTaken) {
  start();
  owner = key({schemas::Scope::kAudio});
  const Answer answer = transcribe(good_form(2'000'000), kAsync);
  ASSERT_EQ(answer.status, 202) << answer.body;
  EXPECT_EQ(*store->blobs().read(*claimed().input), wav_of(2'000'000));
}

TEST_F(Audio, ARecordingOfAnUnknownKeyIsNotBufferedWhole) {
  start({.body_budget_bytes = kRecordingMemoryMax, .unauthenticated_budget_bytes = kRecordingMemoryMax});
  const Answer answer = transcribe(good_form(25u << 20), kAsync);
  ASSERT_EQ(answer.status, 202) << answer.body;
  EXPECT_EQ(store->blobs().read(*claimed().input)->size(), 25u << 20);
}

TEST_F(Audio, AnotherScopeIsNotEnough) {
  start();
  owner = key({schemas::Scope::kOcr});
  for (const std::size_t bytes : {std::size_t{10'000}, std::size_t{9'000'000}})
    EXPECT_EQ(transcribe(good_form(bytes), kAsync).status, 403) << bytes;
  EXPECT_TRUE(leaves_nothing());
}

TEST_F(Audio, WhatIsNotHonouredIsNamedOrRefused) {
  start();
  const FormText form = good_form()
                            .field("prompt", "a")
                            .field("color", "red")
                            .file("abc", "b.txt", "notes")
                            .field("include[]", "logprobs");
  const Answer answer = transcribe(form, kAsync);
  EXPECT_EQ(answer.status, 202);
  EXPECT_EQ(answer.header("x-millrace-dropped-params"), "prompt, include, color, notes");
  const std::size_t before = files().size();
  EXPECT_EQ(transcribe(form, kAsync, "?strict=true").status, 400);
  EXPECT_TRUE(support::wait_until([&] { return files().size() == before; }));
}

TEST_F(Audio, TheSameKeyAndPartsGiveTheSameJobWhateverTheBoundary) {
  start();
  const std::string once = "Idempotency-Key: k\r\n";
  const auto form = [](const char* boundary, std::size_t bytes = 10'000, const char* file_name = "a.wav") {
    return FormText(boundary).field("model", "whisper-1").file(wav_of(bytes), file_name);
  };
  const Answer first = transcribe(form("one"), once + kAsync);
  const Answer again = transcribe(form("another"), once + kAsync);
  ASSERT_EQ(first.status, 202);
  ASSERT_EQ(again.status, 202) << again.body;
  EXPECT_EQ(again.json()["id"], first.json()["id"]);
  EXPECT_EQ(again.header("idempotent-replayed"), "true");
  EXPECT_TRUE(support::wait_until([&] { return files().size() == 1; }));
  EXPECT_EQ(transcribe(form("one", 10'001), once + kAsync).status, 409);
  EXPECT_EQ(transcribe(form("one", 10'000, "b.wav"), once + kAsync).status, 409);
  EXPECT_EQ(transcribe(form("one").field("language", "en"), once + kAsync).status, 409);
  finish(claimed().lease, result_text());
  const Answer done = transcribe(form("third"), once);
  EXPECT_EQ(done.status, 200);
  EXPECT_EQ(done.header("idempotent-replayed"), "true");
}

}  // namespace
}  // namespace millrace::api::test
