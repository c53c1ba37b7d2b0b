#include "ai/engines/layout/letter_pairs.h"

#include <array>
#include <string_view>

#include "ai/engines/layout/code_points.h"

namespace millrace::engines {
namespace {

constexpr int kLetters = 26;
constexpr int kEdge = kLetters;      // the beginning or the end of a word
constexpr int kSign = kLetters + 1;  // a digit or a sign within a word
constexpr int kBitsMost = 9;         // bits

// The cost of each pair in bits, from a to z and the edge: the mean over English, German, French, Spanish,
// Italian, Polish, Dutch, Czech, Swedish, Finnish, Hungarian and Turkish.
constexpr std::array<std::string_view, kLetters + 1> kBits{
    "555598676753539693435689762", "369929993593883994574999595", "496939923746983996445999864",
    "398729893876863796685899773", "775567576754539693447797862", "398634892995992895654999893",
    "488729573895644794663899593", "298629983776773996945999693", "564546587654534785448598963",
    "389528784965753698464789974", "376738694965963696444899793", "389628783873764999655899683",
    "259829993987564499774999893", "495437593977864999535799582", "865576676854436593455569963",
    "296738784984873493654999794", "777777777773777777761737773", "386538673766564896545679653",
    "495939873955774598425889652", "398928963977873894654889682", "656647684654436594337678853",
    "288919993998973996776899694", "288627652977854895587998683", "576746893978687498837896572",
    "475748776876455396446779772", "386628783976754887865879663", "455445664655544485445559769"};

// Letters of U+00C0 to U+017F without their accents; "*" is no letter.
constexpr std::string_view kPlainLetters =
    "aaaaaaaceeeeiiiidnooooo*ouuuuytsaaaaaaaceeeeiiiidnooooo*ouuuuyty"
    "aaaaaaccccccccddddeeeeeeeeeegggggggghhhhiiiiiiiiiiiijjkkklllllll"
    "lllnnnnnnnnnoooooooorrrrrrssssssssttttttuuuuuuuuuuuuwwyyyzzzzzzs";
static_assert(kPlainLetters.size() == 0x180 - 0xC0);

// Of Romanian and Vietnamese; '*': none.
char plain_of_others(std::uint32_t code) {
  if (between(code, 0x218, 0x219)) return 's';
  if (between(code, 0x21A, 0x21B)) return 't';
  if (between(code, 0x1A0, 0x1A1)) return 'o';
  if (between(code, 0x1AF, 0x1B0)) return 'u';
  if (between(code, 0x1EA0, 0x1EB7)) return 'a';
  if (between(code, 0x1EB8, 0x1EC7)) return 'e';
  if (between(code, 0x1EC8, 0x1ECB)) return 'i';
  if (between(code, 0x1ECC, 0x1EE3)) return 'o';
  if (between(code, 0x1EE4, 0x1EF1)) return 'u';
  return between(code, 0x1EF2, 0x1EF9) ? 'y' : '*';
}

// 0 to 25, or kSign.
int letter_of(std::uint32_t code) {
  char plain = '*';
  if (code < 0x80) {
    plain = static_cast<char>(between(code, 'A', 'Z') ? code + ('a' - 'A') : code);
  } else if (between(code, 0xC0, 0x17F)) {
    plain = kPlainLetters[code - 0xC0];
  } else {
    plain = plain_of_others(code);
  }
  return plain >= 'a' && plain <= 'z' ? plain - 'a' : kSign;
}

bool is_capital(std::uint32_t code) { return between(code, 'A', 'Z') || between(code, 0xC0, 0xDE); }

// Marks that may stand before and after a word.
bool is_outside(std::uint32_t code) {
  constexpr std::string_view kMarks = ".,:;!?()[]\"'-*/";
  if (code < 0x80) return kMarks.find(static_cast<char>(code)) != std::string_view::npos;
  return between(code, 0xA1, 0xBF) || between(code, 0x2010, 0x203A);
}

// Marks between two words that are written without a space.
bool joins(std::uint32_t code) {
  return code == '-' || code == '\'' || code == '/' || code == '.' || code == ',' || code == 0xB7 ||
         code == 0x2019;
}

}  // namespace

void PairCost::take(int bits) {
  sum_ += static_cast<float>(bits);
  ++pairs_;
}

void PairCost::add(const std::vector<std::uint32_t>& word) {
  std::size_t first = 0, end = word.size();
  while (first < end && is_outside(word[first])) ++first;
  while (end > first && is_outside(word[end - 1])) --end;
  const auto bits = [](int before, int after) {
    return kBits[static_cast<std::size_t>(before)][static_cast<std::size_t>(after)] - '0';
  };
  int before = kEdge;
  bool capital = false;
  for (std::size_t i = first; i < end; ++i) {
    const int letter = letter_of(word[i]);
    if (letter == kSign && joins(word[i])) {
      if (before < kEdge) take(bits(before, kEdge));
      before = kEdge;
      continue;
    }
    const bool capital_now = is_capital(word[i]);
    const bool capital_inside = before < kEdge && capital_now && !capital;
    if (letter == kSign || before == kSign || capital_inside) {
      take(kBitsMost);
    } else {
      take(bits(before, letter));
    }
    before = letter;
    capital = capital_now;
  }
  if (before < kEdge) take(bits(before, kEdge));
}

}  // namespace millrace::engines
