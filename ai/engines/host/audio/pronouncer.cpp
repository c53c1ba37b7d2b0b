#include "ai/engines/host/audio/pronouncer.h"

#include <cctype>
#include <memory>
#include <string_view>

#include <flite/flite.h>

// Debian's headers do not declare it.
extern "C" cst_lexicon* cmu_lex_init();

namespace millrace::engines::host {
namespace {

struct FreePhones {
  void operator()(cst_val* value) const { delete_val(value); }
};

// flite writes phones in lower case with a digit for the stress, and has a schwa that the dictionary lacks.
std::string dictionary_phone(std::string_view phone) {
  if (!phone.empty() && phone.back() >= '0' && phone.back() <= '9') phone.remove_suffix(1);
  if (phone == "ax") return "AH";
  std::string upper;
  for (const char c : phone) upper += static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
  return upper;
}

}  // namespace

std::string pronounced(const std::string& word) {
  const std::unique_ptr<cst_val, FreePhones> found(
      lex_lookup(cmu_lex_init(), word.c_str(), nullptr, nullptr));
  std::string phones;
  for (const cst_val* at = found.get(); at != nullptr; at = val_cdr(at)) {
    if (!phones.empty()) phones += ' ';
    phones += dictionary_phone(val_string(val_car(at)));
  }
  return phones;
}

}  // namespace millrace::engines::host
