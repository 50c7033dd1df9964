#include "base/inspection.h"

#include <sys/prctl.h>

namespace dunlin {

void forbid_inspection() {
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
  prctl(PR_SET_DUMPABLE, 0, 0, 0, 0);
#endif
}

}  // namespace dunlin
