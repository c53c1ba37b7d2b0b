#include <algorithm>

#include <gtest/gtest.h>

#include "platform/base/base64.h"
#include "tests/unit/inference/chat_fixture.h"
#include "tests/unit/inference/scripted_upstream.h"
#include "tests/unit/workers/stt_fixture.h"
#include "workers/speech/stt_run.h"
#include "workers/speech/stt_task.h"

namespace millrace::workers {
namespace {

namespace remote = inference::testing;
using base::Code;
using schemas::JobStatus;

TEST(SttRunner, AShortRecordingIsTranscribedInOneAttempt) {
  SttFixture stt;
  schemas::TranscriptionSpec spec;
  spec.style.form = schemas::TranscriptFormat::kSrt;
  const auto job = stt.submit(spec);
  ASSERT_TRUE(stt.fixture.reaches(job, JobStatus::kSucceeded));
  const auto [transcript, style] = stt.transcript(job);
  EXPECT_EQ(style.form, schemas::TranscriptFormat::kSrt);
  EXPECT_EQ(transcript.language, "english");
  EXPECT_EQ(transcript.seconds, 60.0);
  EXPECT_EQ(transcript.text, "Piece 0 Piece 1");
  ASSERT_EQ(transcript.segments.size(), 2u);
  EXPECT_EQ(transcript.segments[1].start, 30.0);
  EXPECT_EQ(transcript.words.size(), 2u);
  EXPECT_EQ(stt.fixture.view(job).progress_done, 2);
  EXPECT_EQ(stt.fixture.view(job).progress_total, 2);
  EXPECT_EQ(stt.listener->calls(), 1);
  const auto types = stt.fixture.event_types(job);
  EXPECT_EQ(std::count(types.begin(), types.end(), "piece"), 2);
}

TEST(SttRunner, ATranscriptHasTheLanguageOfItsRequestOrOfItsModel) {
  SttFixture stt;
  const auto language = [&stt](const char* requested, const char* only, const char* model = "whisper") {
    schemas::TranscriptionSpec spec;
    spec.local_model = model;
    spec.language = requested;
    spec.model_language = only;
    const auto job = stt.submit(spec);
    EXPECT_TRUE(stt.fixture.reaches(job, JobStatus::kSucceeded));
    return stt.transcript(job).transcript.language;
  };
  EXPECT_EQ(language("de", ""), "german");
  EXPECT_EQ(language("", "fr"), "french");
  EXPECT_EQ(language("", ""), "");
  EXPECT_EQ(language("", "", "millrace/moonshine-en"), "english");
}

TEST(SttRunner, ADetectedLanguageIsThatOfMostPieces) {
  SttFixture stt([](ScriptedListener& l) {
    l.pieces = 3;
    l.languages = {{0, "english"}, {1, "german"}, {2, "german"}};
  });
  schemas::TranscriptionSpec spec;
  spec.local_model = "whisper";
  const auto job = stt.submit(spec);
  ASSERT_TRUE(stt.fixture.reaches(job, JobStatus::kSucceeded));
  EXPECT_EQ(stt.transcript(job).transcript.language, "german");
}

TEST(SttRunner, ALongRecordingIsSharedOutEvenlyAndJoinedInOrder) {
  SttFixture stt([](ScriptedListener& l) { l.pieces = 10; }, {.range_pieces = 4});
  const auto job = stt.submit();
  ASSERT_TRUE(stt.fixture.reaches(job, JobStatus::kSucceeded));
  const auto [transcript, style] = stt.transcript(job);
  EXPECT_EQ(transcript.seconds, 300.0);
  ASSERT_EQ(transcript.segments.size(), 10u);
  for (int piece = 0; piece < 10; ++piece) {
    EXPECT_EQ(transcript.segments[static_cast<std::size_t>(piece)].text, "Piece " + std::to_string(piece));
    EXPECT_EQ(stt.listener->times_transcribed(piece), 1);
  }
  EXPECT_EQ(stt.listener->calls(), 3);
  EXPECT_EQ(stt.fixture.view(job).progress_total, 10);
}

TEST(SttRunner, AShortRecordingIsSplitAmongAllFreeSlots) {
  SttFixture stt([](ScriptedListener& l) { l.pieces = 3; }, {.shares_min = 2});
  const auto job = stt.submit();
  ASSERT_TRUE(stt.fixture.reaches(job, JobStatus::kSucceeded));
  EXPECT_EQ(stt.transcript(job).transcript.text, "Piece 0 Piece 1 Piece 2");
  EXPECT_EQ(stt.listener->calls(), 2);
}

TEST(SttRunner, SharesAreAsLongAsEachOtherHoweverLongTheirPieces) {
  engines::RecordingInfo info;
  for (const int seconds : {60, 60, 30, 30, 60}) {
    const std::int64_t end = info.ms + seconds * 1000;
    info.pieces.push_back({static_cast<int>(info.pieces.size()), info.ms, end});
    info.ms = end;
  }
  const auto sizes = [&](int count) {
    std::vector<std::size_t> all;
    for (const auto& child : piece_shares({}, info, count, base::SystemClock().wall()))
      all.push_back(schemas::transcription_spec_from_json(child.spec)->pieces.size());
    return all;
  };
  EXPECT_EQ(sizes(1), (std::vector<std::size_t>{5}));
  EXPECT_EQ(sizes(2), (std::vector<std::size_t>{2, 3}));
  EXPECT_EQ(sizes(5), (std::vector<std::size_t>{1, 1, 1, 1, 1}));
}

TEST(SttRunner, ThereAreNoMoreSharesThanPieces) {
  SttFixture stt([](ScriptedListener& l) { l.pieces = 1; }, {.shares_min = 8});
  const auto job = stt.submit();
  ASSERT_TRUE(stt.fixture.reaches(job, JobStatus::kSucceeded));
  EXPECT_EQ(stt.listener->calls(), 1);
  const auto types = stt.fixture.event_types(job);
  EXPECT_EQ(std::count(types.begin(), types.end(), "waiting"), 0);
}

TEST(SttRunner, SilenceIsAnEmptyTranscriptOfItsLength) {
  SttFixture stt([](ScriptedListener& l) { l.pieces = 0; });
  const auto job = stt.submit();
  ASSERT_TRUE(stt.fixture.reaches(job, JobStatus::kSucceeded));
  EXPECT_EQ(stt.transcript(job).transcript.text, "");
  EXPECT_EQ(stt.transcript(job).transcript.seconds, 0.0);
  EXPECT_EQ(stt.listener->calls(), 0);
}

TEST(SttRunner, ARecordingsOwnFaultFailsItAtOnce) {
  SttFixture stt(
      [](ScriptedListener& l) { l.refuses = base::error(Code::kAudioTooLong, "stt.duration_max"); });
  const auto job = stt.submit();
  ASSERT_TRUE(stt.fixture.reaches(job, JobStatus::kFailed));
  EXPECT_EQ(stt.fixture.view(job).error->code, Code::kAudioTooLong);
  EXPECT_EQ(stt.fixture.view(job).error->param, schemas::kRecordingField);
  EXPECT_EQ(stt.fixture.view(job).attempt, 1);
}

TEST(SttRunner, APieceThatFailedIsMissingAndTheOwnerIsWarned) {
  SttFixture stt([](ScriptedListener& l) { l.failing[0] = base::error(Code::kPieceTimeout, "too slow"); });
  const auto job = stt.submit();
  ASSERT_TRUE(stt.fixture.reaches(job, JobStatus::kSucceeded));
  EXPECT_EQ(stt.transcript(job).transcript.text, "Piece 1");
  const auto types = stt.fixture.event_types(job);
  EXPECT_EQ(std::count(types.begin(), types.end(), "warning"), 1);
}

TEST(SttRunner, ARecordingWithoutAGoodPieceFailsWithTheFirstError) {
  SttFixture stt([](ScriptedListener& l) {
    l.failing[0] = base::error(Code::kPieceTimeout, "too slow");
    l.failing[1] = base::error(Code::kPieceFailed, "noise");
  });
  const auto job = stt.submit();
  ASSERT_TRUE(stt.fixture.reaches(job, JobStatus::kFailed));
  EXPECT_EQ(stt.fixture.view(job).error->code, Code::kPieceTimeout);
}

TEST(SttRunner, APieceThatEndsItsChildFailsAloneAfterThreeCrashes) {
  SttFixture stt([](ScriptedListener& l) {
    l.pieces = 3;
    l.killers = {1};
  });
  const auto job = stt.submit();
  ASSERT_TRUE(stt.fixture.reaches(job, JobStatus::kSucceeded));
  EXPECT_EQ(stt.transcript(job).transcript.text, "Piece 0 Piece 2");
  EXPECT_EQ(stt.listener->times_transcribed(0), 1);
  EXPECT_EQ(stt.listener->times_transcribed(1), 3);
  EXPECT_EQ(stt.listener->times_transcribed(2), 1);
}

TEST(SttRunner, AKillerPieceTakesOnlyItselfOutOfASharedRecording) {
  SttFixture stt(
      [](ScriptedListener& l) {
        l.pieces = 6;
        l.killers = {3};
      },
      {.range_pieces = 2});
  const auto job = stt.submit();
  ASSERT_TRUE(stt.fixture.reaches(job, JobStatus::kSucceeded));
  EXPECT_EQ(stt.transcript(job).transcript.text, "Piece 0 Piece 1 Piece 2 Piece 4 Piece 5");
}

TEST(SttRunner, ACancelEndsTheEnginesCallWithinAHeartbeat) {
  SttFixture stt([](ScriptedListener& l) { l.hangs = true; });
  const auto job = stt.submit();
  ASSERT_TRUE(support::wait_until([&] { return stt.listener->calls() == 1; }));
  Answer<schemas::JobView> cancelled;
  storage::JobIntake(*stt.fixture.store).cancel({"default"}, job, cancelled.take());
  ASSERT_TRUE(cancelled.wait());
  EXPECT_TRUE(stt.fixture.reaches(job, JobStatus::kCancelled));
}

TEST(SttRunner, AJobOfARemovedProvidersModelIsNotTranscribedLocally) {
  SttFixture stt;
  schemas::TranscriptionSpec spec;
  spec.model = "whisper-1";
  spec.by_provider = true;
  const auto job = stt.submit(spec);
  ASSERT_TRUE(stt.fixture.reaches(job, JobStatus::kFailed));
  EXPECT_EQ(stt.fixture.view(job).error->code, Code::kModelNotFound);
  EXPECT_EQ(stt.listener->calls(), 0);
}

// "A B A": the speakers of the segments.
std::string speakers_of(const schemas::Transcript& transcript) {
  std::string all;
  for (const schemas::TranscriptSegment& each : transcript.segments)
    all += (all.empty() ? "" : " ") + (each.speaker.empty() ? "-" : each.speaker);
  return all;
}

schemas::TranscriptionSpec diarized() {
  schemas::TranscriptionSpec spec;
  spec.style.form = schemas::TranscriptFormat::kDiarizedJson;
  return spec;
}

schemas::TranscriptionSpec with_known(const std::string& name) {
  schemas::TranscriptionSpec spec = diarized();
  const std::string sound = "RIFF\x24" + std::string(3, '\0') + "WAVEfmt " + std::string(100, '\0');
  spec.speakers.names = {name};
  spec.speakers.references = {"data:audio/wav;base64," + base::base64_encode(sound)};
  return spec;
}

TEST(SttRunner, SpeakersHaveTheSameLabelsInAllRanges) {
  SttFixture stt(
      [](ScriptedListener& l) {
        l.pieces = 4;
        l.voices = {{0, {1, 0}}, {1, {0, 1}}, {2, {0.1F, 1}}, {3, {1, 0.1F}}};
      },
      {.range_pieces = 1});
  const auto job = stt.submit(diarized());
  ASSERT_TRUE(stt.fixture.reaches(job, JobStatus::kSucceeded));
  EXPECT_EQ(stt.listener->calls(), 4);
  EXPECT_EQ(speakers_of(stt.transcript(job).transcript), "A B B A");
  const auto plain = stt.submit();
  ASSERT_TRUE(stt.fixture.reaches(plain, JobStatus::kSucceeded));
  EXPECT_EQ(speakers_of(stt.transcript(plain).transcript), "- - - -");
}

TEST(SttRunner, KnownSpeakersAreNamedInOneRangeAndInSeveral) {
  for (const int range : {8, 1}) {
    SttFixture stt(
        [](ScriptedListener& l) {
          l.voices = {{0, {1, 0}}, {1, {0, 1}}};
          l.known_voice = {0.1F, 1};
        },
        {.range_pieces = range});
    const auto job = stt.submit(with_known("Ann"));
    ASSERT_TRUE(stt.fixture.reaches(job, JobStatus::kSucceeded));
    EXPECT_EQ(speakers_of(stt.transcript(job).transcript), "A Ann") << range;
  }
}

TEST(SttRunner, AReferenceThatIsNoneFailsTheJobBeforeItIsTranscribed) {
  const auto error_with = [](const std::function<void(ScriptedListener&)>& prepare,
                             schemas::TranscriptionSpec spec) {
    SttFixture stt(prepare);
    const auto job = stt.submit(std::move(spec));
    EXPECT_TRUE(stt.fixture.reaches(job, JobStatus::kFailed));
    EXPECT_EQ(stt.listener->calls(), 0);
    const auto error = *stt.fixture.view(job).error;
    EXPECT_EQ(error.code, Code::kInvalidField);
    EXPECT_EQ(error.param, schemas::kKnownSpeakerReferences);
    return error.message;
  };
  const std::string begin = "known_speaker_references[0] cannot be used: ";
  EXPECT_EQ(error_with([](ScriptedListener&) {}, with_known("Ann")), begin + "there is no speech in it");
  EXPECT_EQ(error_with([](ScriptedListener& l) { l.reference_ms = 12'000; }, with_known("Ann")),
            begin + "a speaker's recording should be 2 to 10 seconds long");
  schemas::TranscriptionSpec text = with_known("Ann");
  text.speakers.references = {"data:text/plain;base64,aGVsbG8gd29ybGQ="};
  EXPECT_EQ(error_with([](ScriptedListener&) {}, text).substr(0, begin.size()), begin);
}

// How a job with a reference ends.
schemas::JobError error_of_reference(const std::function<void(ScriptedListener&)>& prepare) {
  SttFixture stt(prepare);
  const auto job = stt.submit(with_known("Ann"));
  EXPECT_TRUE(stt.fixture.reaches(job, JobStatus::kFailed));
  return stt.fixture.view(job).error.value_or(schemas::JobError());
}

TEST(SttRunner, AFaultOfTheMachineIsNotAReferences) {
  const auto memory = error_of_reference(
      [](ScriptedListener& l) { l.reference_fails = base::error(Code::kOutOfMemory, "raise stt.memory"); });
  EXPECT_EQ(memory.code, Code::kOutOfMemory);
  EXPECT_EQ(memory.message, "raise stt.memory");
  EXPECT_EQ(memory.param, "");
  const auto piece = error_of_reference(
      [](ScriptedListener& l) { l.reference_fails = base::error(Code::kPieceFailed, "noise"); });
  EXPECT_EQ(piece.code, Code::kInvalidField);
  EXPECT_EQ(piece.message, "known_speaker_references[0] cannot be used: noise");
  const auto sound = error_of_reference(
      [](ScriptedListener& l) { l.reference_refused = base::error(Code::kAudioDamaged, "cut off"); });
  EXPECT_EQ(sound.code, Code::kInvalidField);
}

TEST(SttRunner, ABusyMachineDelaysAJobWithAReference) {
  SttFixture stt([](ScriptedListener& l) { l.reference_fails = base::error(Code::kOverloaded, "busy"); });
  const auto job = stt.submit(with_known("Ann"));
  ASSERT_TRUE(support::wait_until([&] { return stt.listener->reference_calls() >= 2; }));
  EXPECT_FALSE(schemas::is_terminal(stt.fixture.view(job).status));
}

TEST(SttRunner, AReferenceThatCrashesTheEngineIsNamed) {
  const std::string crashed = "known_speaker_references[0] cannot be used: it crashed the engine";
  const auto voice = error_of_reference([](ScriptedListener& l) { l.reference_crashes = 9; });
  EXPECT_EQ(voice.code, Code::kInvalidField);
  EXPECT_EQ(voice.message, crashed);
  EXPECT_EQ(voice.param, schemas::kKnownSpeakerReferences);
  const auto decoder = error_of_reference([](ScriptedListener& l) {
    l.reference_refused = base::error(Code::kInternal, std::string(engines::kDecoderCrashed));
  });
  EXPECT_EQ(decoder.code, Code::kInvalidField);
  EXPECT_EQ(decoder.message, crashed);
}

TEST(SttRunner, AReferenceThatCrashesTheEngineAtTheEndCostsOnlyItsName) {
  SttFixture stt(
      [](ScriptedListener& l) {
        l.voices = {{0, {1, 0}}, {1, {0, 1}}};
        l.known_voice = {0, 1};
        l.reference_crashes = 9;
        l.reference_crashes_from = 1;  // after the recording was split
      },
      {.range_pieces = 1});
  const auto job = stt.submit(with_known("Ann"));
  ASSERT_TRUE(stt.fixture.reaches(job, JobStatus::kSucceeded));
  EXPECT_EQ(stt.transcript(job).transcript.text, "Piece 0 Piece 1");
  EXPECT_EQ(speakers_of(stt.transcript(job).transcript), "A B");
  const auto types = stt.fixture.event_types(job);
  EXPECT_EQ(std::count(types.begin(), types.end(), "warning"), 1);
}

TEST(SttRunner, AFaultOfTheFilesForSpeakersIsNotTheModels) {
  const auto message_with = [](bool is_model_usable) {
    SttRunner::Options options;
    options.local_model = [=](const std::string&, bool with_speakers) -> base::Result<engines::Recognition> {
      if (is_model_usable && !with_speakers) return engines::Recognition();
      return base::error(Code::kInternal, "a file is missing");
    };
    SttFixture stt({}, options);
    const auto job = stt.submit(diarized());
    EXPECT_TRUE(stt.fixture.reaches(job, JobStatus::kFailed));
    const std::string message = stt.fixture.view(job).error->message;
    return message.substr(0, message.find(" on this worker"));
  };
  EXPECT_EQ(message_with(true), "speakers cannot be told apart");
  EXPECT_EQ(message_with(false).substr(0, 9), "the model");
}

TEST(SttRunner, ARecordingInWhichNoVoiceIsFoundIsAWarning) {
  SttFixture stt;
  const auto job = stt.submit(diarized());
  ASSERT_TRUE(stt.fixture.reaches(job, JobStatus::kSucceeded));
  const auto types = stt.fixture.event_types(job);
  EXPECT_EQ(std::count(types.begin(), types.end(), "warning"), 1);
}

// A worker with one provider model. Its upstream sends `replies`.
class FarStt {
 public:
  explicit FarStt(std::vector<std::string> replies, int deaths = 0)
      : upstream(std::move(replies)),
        dependencies(remote::only_model("team/whisper", "openai", upstream.base_url())),
        pool({}),
        stt({}, {},
            std::make_unique<ProviderTranscriber>(ChatSource{dependencies.chat, dependencies.loop}, pool),
            deaths) {}

  schemas::JobId submit(schemas::TranscriptFormat form = schemas::TranscriptFormat::kJson) {
    schemas::TranscriptionSpec spec;
    spec.style.form = form;
    spec.model = "team/whisper";
    spec.file_name = "talk.mp3";
    spec.by_provider = true;
    return stt.submit(spec);
  }

  remote::ScriptedUpstream upstream;
  remote::ChatFixture dependencies;
  base::Pool pool;
  SttFixture stt;
};

TEST(SttRunner, AProvidersModelGetsTheWholeRecordingAndReportsItsLength) {
  FarStt team({remote::http(200, R"({"text":"from afar","language":"german","duration":7.5,"segments":[)"
                                 R"({"id":0,"start":0,"end":7.5,"text":" from afar"}]})")});
  const auto job = team.submit();
  ASSERT_TRUE(team.stt.fixture.reaches(job, JobStatus::kSucceeded));
  const auto transcript = team.stt.transcript(job).transcript;
  EXPECT_EQ(transcript.text, "from afar");
  EXPECT_EQ(transcript.language, "german");
  EXPECT_EQ(transcript.seconds, 7.5);
  EXPECT_EQ(transcript.segments.size(), 1u);
  EXPECT_EQ(team.stt.fixture.view(job).progress_done, 1);
  EXPECT_EQ(team.stt.listener->calls(), 0);
}

TEST(SttRunner, SpeakersThatAModelDoesNotNameAreAWarning) {
  const auto has_warning = [](const std::string& speaker) {
    FarStt team({remote::http(200, R"({"text":"from afar","duration":7.5,"segments":[{"start":0,"end":7.5,)"
                                   R"("text":"from afar")" +
                                       speaker + "}]}")});
    const auto job = team.submit(schemas::TranscriptFormat::kDiarizedJson);
    EXPECT_TRUE(team.stt.fixture.reaches(job, JobStatus::kSucceeded));
    const auto types = team.stt.fixture.event_types(job);
    return std::count(types.begin(), types.end(), "warning") == 1;
  };
  EXPECT_TRUE(has_warning(""));
  EXPECT_FALSE(has_warning(R"(,"speaker":"A")"));
}

TEST(SttRunner, WhereAProviderReportsNoLengthTheEngineMeasuresIt) {
  FarStt team({remote::http(200, R"({"text":"from afar"})")});
  const auto job = team.submit();
  ASSERT_TRUE(team.stt.fixture.reaches(job, JobStatus::kSucceeded));
  EXPECT_EQ(team.stt.transcript(job).transcript.seconds, 60.0);
}

TEST(SttRunner, AStoredTranscriptIsNotRequestedAgainAndKeepsItsLanguageAndLength) {
  FarStt team({remote::http(200, R"({"text":"from afar","language":"german","duration":7.5,"segments":[)"
                                 R"({"id":0,"start":0,"end":7.5,"text":" from afar"}]})")},
              1);
  const auto job = team.submit();
  ASSERT_TRUE(team.stt.fixture.reaches(job, JobStatus::kSucceeded));
  EXPECT_EQ(team.stt.fixture.view(job).attempt, 2);
  const auto transcript = team.stt.transcript(job).transcript;
  EXPECT_EQ(transcript.text, "from afar");
  EXPECT_EQ(transcript.language, "german");
  EXPECT_EQ(transcript.seconds, 7.5);
  EXPECT_EQ(transcript.segments.size(), 1u);
}

TEST(SttRunner, WhatAProviderRefusesFailsTheJobWithItsWords) {
  FarStt team({remote::http(400, R"({"error":{"message":"no such language"}})")});
  const auto job = team.submit();
  ASSERT_TRUE(team.stt.fixture.reaches(job, JobStatus::kFailed));
  EXPECT_NE(team.stt.fixture.view(job).error->message.find("no such language"), std::string::npos);
  EXPECT_EQ(team.stt.fixture.view(job).attempt, 1);
}

}  // namespace
}  // namespace millrace::workers
