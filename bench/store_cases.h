// The parts of bench/store: store_bench.cc has main and the embedded engine, store_open.cc how it
// opens, store_year.cc what it keeps in a year, store_hub.cc the hub.
#pragma once

#include <functional>
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

// In a process of its own, so that nothing of it is in the memory that is measured.
void make_apart(const std::function<void()>& make);

struct Opened {
  double seconds = 0;
  double cpu_seconds = 0;  // The same on a machine that does nothing else.
  double read_seconds = 0;
  double mib = 0;       // Of memory, when it is open.
  double peak_mib = 0;  // On the way there.
  uint64_t log_mib = 0;
  double failed_ms = 0;  // A commit that failed then.
  double failed_cpu_ms = 0;
};

// In a process of its own as well.
Opened open_apart(const std::string& folder);

void year(Table& table, const std::string& folder, bool quick);
void reopen(Table& table, const std::string& folder, bool quick);
void hub(Table& table, const std::string& program, const std::string& folder, bool quick);
void idle_workers(Table& table, const std::string& program, const std::string& folder, bool quick);

}  // namespace dunlin::bench
