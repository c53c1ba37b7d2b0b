#pragma once
#include <chrono>
#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "ai/engines/host/pictures/pixels.h"
#include "ai/engines/limits.h"
#include "ai/engines/ocr/pages.h"
#include "platform/base/result.h"

namespace tesseract {
class TessBaseAPI;
}
namespace millrace::engines::host {

// A recognised word and the index of its block on the page.
struct Placed {
  Box box;
  int block = 0;
};

// Parts of a page that a recognition pass missed.
struct UnreadLetters {
  std::size_t letters = 0;  // outside every word and picture
  std::size_t torn = 0;     // words that cross the border of two blocks: the leader dots of a price list
  std::size_t count() const { return letters + torn; }
};
// `letters`: the components of the page that are as large as letters. Returns nothing for more than
// kLeftoversMax words or letters: such input is noise and not worth the time.
UnreadLetters unread_letters(const std::vector<Box>& letters, const std::vector<Placed>& words,
                             const std::vector<Box>& pictures);
constexpr std::size_t kLeftoversMax = 6000;

// Whether so much was missed that a second pass is worth its time.
bool needs_second_pass(const UnreadLetters& left, std::size_t letters);

struct Recognised {
  PageText text;                    // in pixels of the given page turned upright (not of the scaled copy)
  std::vector<Box> figures;         // pictures, in the same pixels
  std::vector<Grid> grids;          // tables that are drawn
  std::vector<Box> rules;           // long lines across that belong to none of them
  int confidence = 0;               // average over the words, 0 to 100
  std::optional<base::Error> late;  // kPageTimeout: only a part of the page was read
  bool sideways = false;  // most words are rotated by 90°: each is read well, but their order is wrong
};

constexpr int kSureConfidence = 75;  // a page that is read in the wrong orientation stays far below

// Time limit for a page.
struct PageTime {
  std::chrono::milliseconds cpu{0};      // the CPU time granted
  std::chrono::milliseconds cpu_end{0};  // the process's CPU time at which it ends
  std::chrono::steady_clock::time_point wall_end;
};

// One Tesseract instance, created for the first page (55 ms with one language) and kept.
class Recogniser {
 public:
  // `languages` in Tesseract's syntax: "eng+deu", the preferred one first.
  Recogniser(const EngineLimits& limits, std::string languages);
  ~Recogniser();
  Recogniser(const Recogniser&) = delete;
  Recogniser& operator=(const Recogniser&) = delete;

  // A limit that starts now: `cpu` of processor time, and `page_wall`.
  PageTime time_for(std::chrono::milliseconds cpu) const;
  // kPageTimeout: the time limit was exceeded before any word was read; with some words, the result is what
  // was read. kPageFailed: the picture cannot be processed. Otherwise errors
  // of `ready`.
  base::Result<Recognised> recognise(const Prepared& prepared, const PageTime& time);

  // Loads the model, once. kInternal: the data of a language is not installed; the message says how to
  // install it.
  base::Status ready();
  const std::string& languages() const { return languages_; }

 private:
  enum class Layout { kOfAPage, kOneBlock };
  struct Look {
    Recognised recognition;
    UnreadLetters left;
  };
  base::Result<Look> look(Layout layout, const Prepared& prepared, const PageTime& time);
  Look best_look(Look first, const Prepared& prepared, const PageTime& time);
  base::Result<Recognised> read(const Prepared& prepared, const PageTime& time);
  base::Status run(PageTime time);
  base::Error late(const PageTime& time) const;
  base::Status read_table(const DrawnTable& table, const Prepared& prepared, const PageTime& time,
                          Recognised& page);
  std::vector<Placed> collect(double scale, Recognised& result);

  const EngineLimits& limits_;
  const std::string languages_;
  std::unique_ptr<tesseract::TessBaseAPI> api_;
};

}  // namespace millrace::engines::host
