// What DynamoDB would bill for a request, in its units, for clients that ask for it with
// ReturnConsumedCapacity. Pure.
#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "aws_protocol/json.h"

namespace dunlin::aws {

// Bytes of names and values, as DynamoDB counts them: fewer than their JSON has.
uint64_t item_size(const json& item);
uint64_t value_size(const json& value);

// How an item is read: at once or perhaps late, or in a transaction, which costs twice as much.
enum class ReadMode { late, consistent, transaction };
ReadMode read_mode(const json& in);  // By ConsistentRead.
double read_units(uint64_t bytes, ReadMode mode);
double write_units(uint64_t bytes);

// Adds ConsumedCapacity to a reply if `in` asks for it: of one table, or a list of several.
void add_capacity(json& out, const json& in, const std::string& table, double units);
void add_capacities(json& out, const json& in, const std::map<std::string, double>& units);

}  // namespace dunlin::aws
