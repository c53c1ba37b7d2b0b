#pragma once
#include <functional>
#include <memory>
#include <set>

#include "ai/engines/ocr_engine.h"
#include "platform/process/fd.h"

namespace millrace::engines {

// A call of OcrEngine: what is asked, who hears of it, and the means to end it. `left` is used by its pump
// alone.
struct Ticket::State {
  std::shared_ptr<const Document> document;
  bool inspect = false;
  RecogniseOptions options;
  std::set<int> left;  // pages not reported yet
  int at = -1;         // the page that is worked on
  DocumentInfo info;
  std::function<void(base::Result<DocumentInfo>)> inspected;
  std::function<void(PageOutcome)> on_page;
  std::function<void(EngineEnd)> done;
  process::Fd cancelled = cancel_event();

  bool is_cancelled() const;
  // The one end of a call, in the form that it was asked in.
  void end(EngineEnd how);
  // The page to blame: the one that was begun, unless it is done already; -1 when none is left.
  int blamed() const { return left.contains(at) || left.empty() ? at : *left.begin(); }

 private:
  static process::Fd cancel_event();
};

}  // namespace millrace::engines
