#pragma once
#include <map>
#include <string>

#include "platform/base/result.h"

namespace millrace::engines {

using OnnxMetadata = std::map<std::string, std::string, std::less<>>;

inline constexpr std::size_t kOnnxMetadataBytesMax = 1 << 20;  // of all keys and values

// The metadata (`metadata_props`) of an ONNX file. Reads no weights. kInternal: the file cannot be read, is
// cut off, is not ONNX, or has more than kOnnxMetadataBytesMax of metadata.
base::Result<OnnxMetadata> onnx_metadata(const std::string& path);

}  // namespace millrace::engines
