// The parts of bench/store: store_bench.cc has main and the embedded engine, store_hub.cc the hub.
#pragma once

#include <string>

#include "bench/measure.h"
#include "store/store.h"

namespace dunlin::bench {

double cycle(Store& store, const std::string& queue, size_t total, size_t batch);

// Of a process id or "self".
double resident_mib(const std::string& process);

void hub(Table& table, const std::string& program, const std::string& folder, bool quick);
void idle_workers(Table& table, const std::string& program, const std::string& folder, bool quick);

}  // namespace dunlin::bench
