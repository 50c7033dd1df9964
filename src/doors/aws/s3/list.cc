// S3's ListObjectsV2 and ListObjects: keys in order, with those that share a prefix up to a
// delimiter rolled up.
#include <algorithm>
#include <charconv>
#include <fmt/format.h>

#include "base/digest.h"
#include "base/text.h"
#include "doors/aws/call/keys.h"
#include "doors/aws/call/replies.h"
#include "doors/aws/s3/s3.h"

namespace dunlin::aws {
namespace {

struct Entry {
  std::string name;  // A key, or a common prefix.
  std::optional<S3Object> object;
};

struct Listing final : CallState {
  std::string bucket;
  std::string prefix;
  std::string delimiter;
  std::string start;  // StartAfter, or the marker of version 1.
  std::string token;
  size_t max = 1000;
  bool second = false;  // Version 2.
  bool encoded = false;
  bool owner = false;  // Is told of each object.

  std::string after;  // A key of the store.
  std::vector<Entry> entries;
  std::string last;  // From where the next page goes on.
  bool truncated = false;
};

std::string shown(const Listing& listing, const std::string& text) {
  return listing.encoded ? percent_encode(text, true) : text;
}

void reply_listing(Call& call, const Listing& listing) {
  Xml xml;
  xml.open("ListBucketResult").leaf("Name", listing.bucket);
  xml.leaf("Prefix", shown(listing, listing.prefix)).leaf("MaxKeys", listing.max);
  if (!listing.delimiter.empty()) xml.leaf("Delimiter", shown(listing, listing.delimiter));
  if (listing.encoded) xml.leaf("EncodingType", "url");
  xml.leaf("IsTruncated", listing.truncated ? "true" : "false");
  if (listing.second) {
    xml.leaf("KeyCount", listing.entries.size());
    if (!listing.token.empty()) xml.leaf("ContinuationToken", listing.token);
    if (!listing.start.empty()) xml.leaf("StartAfter", shown(listing, listing.start));
    if (listing.truncated) xml.leaf("NextContinuationToken", to_base64(listing.last));
  } else {
    xml.leaf("Marker", shown(listing, listing.start));
    if (listing.truncated) xml.leaf("NextMarker", shown(listing, listing.entries.back().name));
  }
  for (const Entry& entry : listing.entries) {
    if (!entry.object) continue;
    xml.open("Contents").leaf("Key", shown(listing, entry.name));
    xml.leaf("LastModified", iso_time(entry.object->changed_ms));
    xml.leaf("ETag", fmt::format("\"{}\"", entry.object->etag));
    if (const auto& checksum = entry.object->checksum) {
      xml.leaf("ChecksumAlgorithm", checksum_word(checksum->kind));
      xml.leaf("ChecksumType", checksum->composite ? "COMPOSITE" : "FULL_OBJECT");
    }
    xml.leaf("Size", entry.object->size).leaf("StorageClass", "STANDARD");
    if (listing.owner) xml.open("Owner").leaf("ID", "dunlin").close("Owner");
    xml.close("Contents");
  }
  for (const Entry& entry : listing.entries) {
    if (entry.object) continue;
    xml.open("CommonPrefixes").leaf("Prefix", shown(listing, entry.name)).close("CommonPrefixes");
  }
  xml.close("ListBucketResult");
  call.reply(xml_reply(200, xml));
}

// Behind all keys with this prefix, if the store has such a key.
std::string behind(const std::string& prefix, const std::string& otherwise) {
  std::string key = sortable_bytes(prefix) + std::string(kAfterAll);
  return key.size() <= kKeyMax ? key : otherwise;
}

// What the key is rolled up to; empty if it is told by itself.
std::string common_prefix(const Listing& listing, const std::string& key) {
  if (listing.delimiter.empty()) return "";
  const size_t at = key.find(listing.delimiter, listing.prefix.size());
  return at == std::string::npos ? "" : key.substr(0, at + listing.delimiter.size());
}

// Takes a row; false if the page is full.
bool take(Listing& listing, const Row& row) {
  const std::optional<std::string> key = from_sortable(row.key);
  if (!key) return true;  // Another program's.
  const std::string common = common_prefix(listing, *key);
  if (!common.empty() && !listing.entries.empty() && listing.entries.back().name == common) {
    return true;
  }
  if (listing.entries.size() == listing.max) {
    listing.truncated = true;
    return false;
  }
  listing.last = common.empty() ? row.key : behind(common, row.key);
  if (common.empty()) {
    listing.entries.push_back({*key, object_of(row)});
  } else {
    listing.entries.push_back({common, std::nullopt});
  }
  return true;
}

void list_on(Call& call, Listing& listing) {
  call.ask(Scan{bucket_table(listing.bucket), sortable_bytes(listing.prefix), listing.after,
                std::min<uint64_t>(1000, listing.max + 1)},
           [&call, &listing](Answer&& answer) {
             const auto* rows = s3_expect<Rows>(call, answer);
             if (!rows) return;
             bool done = rows->rows.empty() || listing.max == 0;
             for (const Row& row : rows->rows) {
               if (done) break;
               done = !take(listing, row);
               listing.after = row.key;
             }
             if (done) return reply_listing(call, listing);
             listing.after = std::max(listing.after, listing.last);
             list_on(call, listing);
           });
}

}  // namespace

void list_objects(Call& call, const S3Target& target, std::string_view /*body*/) {
  const auto text = [&call](std::string_view name) {
    const std::string* value = parameter(call, name);
    return value ? *value : std::string();
  };
  Listing& listing = call.keep(std::make_unique<Listing>());
  listing.bucket = target.bucket;
  listing.second = text("list-type") == "2";
  listing.prefix = text("prefix");
  listing.delimiter = text("delimiter");
  listing.start = text(listing.second ? "start-after" : "marker");
  listing.token = text("continuation-token");
  listing.encoded = text("encoding-type") == "url";
  if (const std::string max = text("max-keys"); !max.empty()) {
    const auto parsed = std::from_chars(max.data(), max.data() + max.size(), listing.max);
    if (parsed.ec != std::errc() || parsed.ptr != max.data() + max.size()) {
      return s3_fail(call, 400, "InvalidArgument", "max-keys is a number");
    }
    listing.max = std::min<size_t>(listing.max, 1000);
  }
  listing.after = sortable_bytes(listing.start);
  // A marker that is a common prefix stands for all keys in it.
  const bool given = !listing.second && !listing.start.empty();
  if (given && common_prefix(listing, listing.start) == listing.start) {
    listing.after = behind(listing.start, listing.after);
  }
  if (!listing.token.empty()) {
    const std::optional<std::string> token = from_base64(listing.token);
    if (!token) return s3_fail(call, 400, "InvalidArgument", "the continuation token is not ours");
    listing.after = *token;
  }
  listing.owner = !listing.second || text("fetch-owner") == "true";
  with_bucket(call, target.bucket, [&call, &listing] {
    if (sortable_bytes(listing.prefix).size() > kKeyMax || listing.after.size() > kKeyMax) {
      return reply_listing(call, listing);
    }
    list_on(call, listing);
  });
}

}  // namespace dunlin::aws
