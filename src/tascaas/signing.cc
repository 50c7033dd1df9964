#include "tascaas/signing.h"

#include "base/digest.h"
#include "model/rows.h"
#include "tascaas/keys.h"
#include "tascaas/records.pb.h"

namespace dunlin::tascaas {
namespace {

constexpr size_t kKeyBytes = 32;

}  // namespace

Result<std::string> signing_key(Table& table) {
  const std::string row(kSigningRow);
  const auto found = TRY(read_record<SigningKey>(table, kTable, row));
  if (found.version != 0) return found.record.key();
  SigningKey made;
  made.set_key(random_bytes(kKeyBytes));
  const auto put = table.put(kTable, {row, made.SerializeAsString(), 0});
  if (put.ok()) return made.key();
  if (put.error().code != Code::conflict) return put.error();
  return TRY(read_record<SigningKey>(table, kTable, row)).record.key();
}

}  // namespace dunlin::tascaas
