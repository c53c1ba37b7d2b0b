#pragma once
#include <cstdint>
#include <limits>
#include <string>
#include <string_view>

#include "platform/base/result.h"

namespace millrace::base {

enum class SettingType { kString, kBool, kInteger, kBytes, kDuration, kList };

// One row of the table of settings. For example, `store.wal_max` is the flag `--store.wal-max`, the variable
// `MILLRACE_STORE_WAL_MAX` and, in the file, `store: {wal_max: …}` or `store.wal_max: …`. A row must outlive
// every Config that uses it.
struct Setting {
  std::string_view path;
  SettingType type = SettingType::kString;
  std::string_view default_text = {};  // in the form in which people write it; empty: not set
  std::string_view help = {};
  std::string_view flag_alias = {};  // a second flag, without dashes: "kafka"
  std::string_view env_alias = {};   // a second variable: "MILLRACE_KAFKA"
  std::string_view choices = {};     // kString: "json|text"
  std::int64_t min = 0;              // unit: kInteger: the value; kBytes: bytes; kDuration: milliseconds
  std::int64_t max = std::numeric_limits<std::int64_t>::max();
  bool secret = false;  // shown as "****"
};

std::string flag_name(const Setting& setting);  // without dashes: "store.wal-max"
std::string env_name(const Setting& setting);   // "MILLRACE_STORE_WAL_MAX"

// Checks `text` as a value of this setting. The error names the limit. An empty text is valid if the default
// is empty: it means "not set".
Status check_value(const Setting& setting, std::string_view text);

// Parses a value that passed check_value.
bool bool_value(std::string_view text);
std::int64_t number_value(const Setting& setting, std::string_view text);

}  // namespace millrace::base
