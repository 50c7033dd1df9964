// The parts of bench/store: store_bench.cc has main and the embedded engine, store_open.cc how it
// opens, store_hub.cc the hub.
#pragma once

#include <string>
#include <vector>

#include "bench/measure.h"
#include "store/store.h"

namespace dunlin::bench {

// With bodies of 100 bytes.
std::vector<Message> make_messages(size_t first, size_t count);

double cycle(Store& store, const std::string& queue, size_t total, size_t batch);

// Of a process id or "self".
double resident_mib(const std::string& process);

void reopen(Table& table, const std::string& folder, bool quick);
void hub(Table& table, const std::string& program, const std::string& folder, bool quick);
void idle_workers(Table& table, const std::string& program, const std::string& folder, bool quick);

}  // namespace dunlin::bench
