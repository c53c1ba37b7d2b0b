#pragma once
#include <chrono>
#include <cstddef>
#include <memory>
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

// A word that was read, and which of the blocks of the page it stands in.
struct Placed {
  Box box;
  int block = 0;
};

// What a reading leaves of a page.
struct Leftovers {
  std::size_t letters = 0;  // in no word and no picture
  std::size_t torn = 0;     // words with a border of two blocks through them: a price list's, at their points
  std::size_t count() const { return letters + torn; }
};
// `letters`: the components of the page that are as large as letters. Nothing, of more than kLeftoversMax
// words or letters: those are noise, and the time is better spent.
Leftovers leftovers_of(const std::vector<Box>& letters, const std::vector<Placed>& words,
                       const std::vector<Box>& pictures);
constexpr std::size_t kLeftoversMax = 6000;

// Whether there is so much of it that another reading is worth its time.
bool worth_another_look(const Leftovers& left, std::size_t letters);

struct Recognised {
  PageText text;             // in pixels of the upright page as it was given (not of the scaled copy)
  std::vector<Box> figures;  // pictures, in the same pixels
  std::vector<Grid> grids;   // tables that are drawn
  int confidence = 0;        // of the words on the average, 0 to 100
  bool sideways = false;     // most of the words stand on end: each is read well, their order is not
};

constexpr int kSureConfidence = 75;  // a page that is read the wrong way round stays far below

// How long the work on a page may last.
struct PageTime {
  std::chrono::milliseconds cpu{0};      // what is given
  std::chrono::milliseconds cpu_end{0};  // of this process
  std::chrono::steady_clock::time_point wall_end;
};

// One Tesseract instance, made at the first page (55 ms with one language) and kept.
class Recogniser {
 public:
  // `languages` as Tesseract writes them: "eng+deu", the first one first.
  Recogniser(const EngineLimits& limits, std::string languages);
  ~Recogniser();
  Recogniser(const Recogniser&) = delete;
  Recogniser& operator=(const Recogniser&) = delete;

  // From now on: this much of the processor, and `page_wall`.
  PageTime time_for(std::chrono::milliseconds cpu) const;
  // kPageTimeout: the time is over. kPageFailed: the picture cannot be worked on. Else as `ready`.
  base::Result<Recognised> recognise(const Prepared& prepared, const PageTime& time);

  // Loads its model, once. kInternal: the data of a language is not installed; the message says how to.
  base::Status ready();

 private:
  enum class Layout { kOfAPage, kOneBlock };
  struct Look {
    Recognised said;
    Leftovers left;
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
