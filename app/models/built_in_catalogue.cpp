#include <array>
#include <sstream>
#include <string_view>

#include "app/models/model_catalogue.h"

// The models of `models pull`. Each URL names one revision of a conversion for sherpa-onnx. Sizes and digests
// are those that several public projects fix for the same revision.
namespace millrace::app {
namespace {

using engines::SpeechModelFamily;

// Without Javanese and Hawaiian, for which Whisper has codes of its own.
constexpr std::string_view kWhisperLanguages =
    "en zh de es ru ko fr ja pt tr pl ca nl ar sv it id hi fi vi he uk el ms cs ro da hu ta no th ur hr bg "
    "lt la mi ml cy sk te fa lv bn sr az sl kn et mk br eu is hy ne mn bs kk sq sw gl mr pa si km sn yo so "
    "af oc ka be tg sd gu am yi lo uz fo ht ps tk nn mt sa lb my bo tl mg as tt ln ha ba su";
constexpr std::string_view kParakeetLanguages =
    "bg hr cs da nl en et fi fr de el hu it lv lt mt pl pt ro sk sl es sv ru uk";

struct BuiltInFile {
  std::string_view name;  // empty: no file
  std::int64_t bytes = 0;
  std::string_view sha256;
  std::string_view url = {};  // empty: the folder's and `name`
};

struct BuiltInModel {
  std::string_view name;
  SpeechModelFamily family;
  std::string_view languages, licence;
  std::string_view url;  // of the folder
  std::array<BuiltInFile, 4> files;
};

constexpr std::array<BuiltInModel, 9> kBuiltInModels{{
    {"moonshine-tiny-en",
     SpeechModelFamily::kMoonshine,
     "en",
     "MIT",
     "https://huggingface.co/csukuangfj2/sherpa-onnx-moonshine-tiny-en-quantized-2026-02-27/resolve/"
     "d1e6c30921780b8508d04b492dfb3ce8a51605d4/",
     {{{"encoder_model.ort", 13'281'600, "94e90a4654fc45cdfedb77c4c08e1739f48862998e58fada384b25118134f221"},
       {"decoder_model_merged.ort", 30'412'256,
        "cf524c4862d36e9e5ab032eddc73637efd822d70e868ac575cf1a46e1e4708a0"},
       {"tokens.txt", 549'350, "2870d843e14c1e187bf1913a521562a63b53933814bd7f2145120468f494a049"}}}},
    {"moonshine-base-en",
     SpeechModelFamily::kMoonshine,
     "en",
     "MIT",
     "https://huggingface.co/csukuangfj2/sherpa-onnx-moonshine-base-en-quantized-2026-02-27/resolve/"
     "8f4d6c58c03d40bcea40043bb7120a878f2bbef6/",
     {{{"encoder_model.ort", 31'326'816, "7c66495948d0d08ec1af454cd4b5514862ae6511e94712a60e6d83eaec8dc8cf"},
       {"decoder_model_merged.ort", 109'424'400,
        "d9d7b333af34bc552580576ddcf248a1c6c839e0d3b43b09afb9376ed009899d"},
       {"tokens.txt", 549'350, "2870d843e14c1e187bf1913a521562a63b53933814bd7f2145120468f494a049"}}}},
    {"whisper-tiny",
     SpeechModelFamily::kWhisper,
     kWhisperLanguages,
     "MIT",
     "https://huggingface.co/csukuangfj/sherpa-onnx-whisper-tiny/resolve/"
     "65176e2deb88badc814a94058666cadccc29b61c/",
     {{{"tiny-encoder.int8.onnx", 12'937'772,
        "d24fb083ae3b1041fc24e97971d60e280c9342201fbb67b0ab428a8b4a51a434"},
       {"tiny-decoder.int8.onnx", 89'855'401,
        "d2fece8dd42771f1df975c6c0445770d0c292bf7547c2cae04a6c0cc57540925"},
       {"tiny-tokens.txt", 816'730, "b34b360dbb493e781e479794586d661700670d65564001f23024971d1f2fa126"}}}},
    {"whisper-base",
     SpeechModelFamily::kWhisper,
     kWhisperLanguages,
     "MIT",
     "https://huggingface.co/csukuangfj/sherpa-onnx-whisper-base/resolve/"
     "bb53ee204431c90d314c1cc08d28d23e5b7927cc/",
     {{{"base-encoder.int8.onnx", 29'120'534,
        "0b8fb1304b6109976038efff5ace81720e00386f3ff6b54ee8c75291ca0a1e11"},
       {"base-decoder.int8.onnx", 130'672'026,
        "9759d217388a01b3a4c7c15533201067b48ae819c4daafc8624e64b9409dc02d"},
       {"base-tokens.txt", 816'730, "b34b360dbb493e781e479794586d661700670d65564001f23024971d1f2fa126"}}}},
    {"whisper-small",
     SpeechModelFamily::kWhisper,
     kWhisperLanguages,
     "MIT",
     "https://huggingface.co/csukuangfj/sherpa-onnx-whisper-small/resolve/"
     "8f3c18b358db4d1f2fc1eae49d75cd20989e4309/",
     {{{"small-encoder.int8.onnx", 112'442'483,
        "4cbe7b22fa9026b843b60a68640c747de05bafb1a11b57edc0e66c232d9f33a9"},
       {"small-decoder.int8.onnx", 262'226'114,
        "acad50b5c782696e91b55914cc5ab4f756f1532f76e22aa6fc615f39fb69a8ee"},
       {"small-tokens.txt", 816'730, "b34b360dbb493e781e479794586d661700670d65564001f23024971d1f2fa126"}}}},
    {"sense-voice-small",
     SpeechModelFamily::kSenseVoice,
     "zh yue en ja ko",
     "FunASR Model License 1.1",
     "https://huggingface.co/csukuangfj/sherpa-onnx-sense-voice-zh-en-ja-ko-yue-2024-07-17/resolve/"
     "2365baeacb507f821a0c8120fcee3d484dba7a07/",
     {{{"model.int8.onnx", 239'233'841, "c71f0ce00bec95b07744e116345e33d8cbbe08cef896382cf907bf4b51a2cd51"},
       {"tokens.txt", 315'894, "f449eb28dc567533d7fa59be34e2abca8784f771850c78a47fb731a31429a1dc"}}}},
    {"parakeet-tdt-0.6b-v2",
     SpeechModelFamily::kNemo,
     "en",
     "CC-BY-4.0",
     "https://huggingface.co/csukuangfj/sherpa-onnx-nemo-parakeet-tdt-0.6b-v2-int8/resolve/"
     "1ab9323565ddb038682214b292f588070a538ce2/",
     {{{"encoder.int8.onnx", 652'184'296, "a32b12d17bbbc309d0686fbbcc2987b5e9b8333a7da83fa6b089f0a2acd651ab"},
       {"decoder.int8.onnx", 7'257'753, "b6bb64963457237b900e496ee9994b59294526439fbcc1fecf705b31a15c6b4e"},
       {"joiner.int8.onnx", 1'739'080, "7946164367946e7f9f29a122407c3252b680dbae9a51343eb2488d057c3c43d2"},
       {"tokens.txt", 9'384, "ec182b70dd42113aff6c5372c75cac58c952443eb22322f57bbd7f53977d497d"}}}},
    {"parakeet-tdt-0.6b-v3",
     SpeechModelFamily::kNemo,
     kParakeetLanguages,
     "CC-BY-4.0",
     "https://huggingface.co/csukuangfj/sherpa-onnx-nemo-parakeet-tdt-0.6b-v3-int8/resolve/"
     "2bda32ec70b097a55adaa07d9a7173915b43cc78/",
     {{{"encoder.int8.onnx", 652'184'281, "acfc2b4456377e15d04f0243af540b7fe7c992f8d898d751cf134c3a55fd2247"},
       {"decoder.int8.onnx", 11'845'275, "179e50c43d1a9de79c8a24149a2f9bac6eb5981823f2a2ed88d655b24248db4e"},
       {"joiner.int8.onnx", 6'355'277, "3164c13fc2821009440d20fcb5fdc78bff28b4db2f8d0f0b329101719c0948b3"},
       {"tokens.txt", 93'939, "d58544679ea4bc6ac563d1f545eb7d474bd6cfa467f0a6e2c1dc1c7d37e3c35d"}}}},
    {"speakers",
     SpeechModelFamily::kSpeakers,
     "",
     "MIT and Apache-2.0",
     "",
     {{{kSegmentationFile, 5'992'913, "220ad67ca923bef2fa91f2390c786097bf305bceb5e261d4af67b38e938e1079",
        "https://huggingface.co/csukuangfj/sherpa-onnx-pyannote-segmentation-3-0/resolve/"
        "9403a6902bb58e3d5ae8c7e77c3422de279db2e0/model.onnx"},
       {kEmbeddingFile, 28'281'164, "aa3cfc16963a10586a9393f5035d6d6b57e98d358b347f80c2a30bf4f00ceba2",
        "https://huggingface.co/csukuangfj/speaker-embedding-models/resolve/"
        "0743f301363dec56491a490f6d6cbc9d67f9a3bf/"
        "3dspeaker_speech_campplus_sv_zh_en_16k-common_advanced.onnx"}}}},
}};

}  // namespace

std::vector<CatalogueModel> built_in_catalogue() {
  std::vector<CatalogueModel> out;
  for (const BuiltInModel& row : kBuiltInModels) {
    CatalogueModel& model = out.emplace_back();
    model.name = row.name;
    model.family = row.family;
    model.licence = row.licence;
    std::istringstream codes{std::string(row.languages)};
    for (std::string code; codes >> code;) model.languages.push_back(code);
    for (const BuiltInFile& file : row.files) {
      if (file.name.empty()) continue;
      std::string url = file.url.empty() ? std::string(row.url).append(file.name) : std::string(file.url);
      model.files.push_back({std::string(file.name), std::move(url), file.bytes, std::string(file.sha256)});
    }
  }
  return out;
}

}  // namespace millrace::app
