// A folder on the real disk that is gone when the test ends. One thread at a time.
#pragma once

#include "base/temp_folder.h"

namespace dunlin {

class TestFolder : public TempFolder {
 public:
  TestFolder() : TempFolder(TempFolder::make("").value()) {}
};

}  // namespace dunlin
