#include "doors/aws/sqs/query.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <fmt/format.h>
#include <map>
#include <optional>

#include "base/digest.h"
#include "base/text.h"
#include "base/xml.h"

namespace dunlin::aws {
namespace {

constexpr size_t kParametersMax = 2000;  // Ten messages with ten attributes each have some 500.
constexpr size_t kPartsMax = 6;          // Of a name: XEntry.1.MessageAttribute.1.Value.DataType

// How a member is called here and there. `key` and `value` name the parts of a map's entry.
struct ListName {
  std::string_view json;
  std::string_view query;
};
struct MapName {
  std::string_view json;
  std::string_view query;
  std::string_view key;
};
constexpr std::array<ListName, 6> kLists = {
    {{"AttributeNames", "AttributeName"},
     {"MessageAttributeNames", "MessageAttributeName"},
     {"MessageSystemAttributeNames", "MessageSystemAttributeName"},
     {"TagKeys", "TagKey"},
     {"QueueUrls", "QueueUrl"},
     {"Messages", "Message"}}};
constexpr std::array<MapName, 4> kMaps = {
    {{"Attributes", "Attribute", "Name"},
     {"MessageAttributes", "MessageAttribute", "Name"},
     {"MessageSystemAttributes", "MessageSystemAttribute", "Name"},
     {"Tags", "Tag", "Key"}}};
constexpr std::array<std::string_view, 5> kNumbers = {
    "MaxResults", "DelaySeconds", "MaxNumberOfMessages", "VisibilityTimeout", "WaitTimeSeconds"};
constexpr std::string_view kEntry = "BatchRequestEntry";

// Parameters by the parts of their names. Numbers sort as numbers.
struct ByNumber {
  bool operator()(const std::string& a, const std::string& b) const {
    return std::pair(a.size(), std::string_view(a)) < std::pair(b.size(), std::string_view(b));
  }
};
struct Node {
  std::optional<std::string> text;
  std::map<std::string, Node, ByNumber> parts;
};

SqsError wrong(std::string message) { return {"InvalidParameterValue", std::move(message)}; }

std::optional<SqsError> add(Node& root, std::string_view name, std::string&& value) {
  Node* node = &root;
  size_t parts = 0;
  for (std::string_view rest = name; !rest.empty();) {
    const std::string_view part = rest.substr(0, rest.find('.'));
    rest.remove_prefix(std::min(rest.size(), part.size() + 1));
    if (++parts > kPartsMax) return wrong("the name of a parameter has too many parts");
    node = &node->parts[std::string(part)];
  }
  if (!is_utf8(name) || !is_utf8(value)) {
    return wrong(fmt::format("the parameter {} is not UTF-8", escape(name.substr(0, kShownMax))));
  }
  if (node->text) {
    return wrong(fmt::format("the parameter {} comes twice", escape(name.substr(0, kShownMax))));
  }
  node->text = std::move(value);
  return std::nullopt;
}

std::string text_of(const Node& node) { return node.text.value_or(""); }

std::string part_text(const Node& node, std::string_view part) {
  const auto found = node.parts.find(std::string(part));
  return found == node.parts.end() ? "" : text_of(found->second);
}

// Parameters as the members of an object of the JSON protocol.
class Reader {
 public:
  json fields_of(const Node& node) {
    json fields = json::object();
    for (const auto& [name, part] : node.parts) {
      const auto* list = std::ranges::find(kLists, name, &ListName::query);
      const auto* map = std::ranges::find(kMaps, name, &MapName::query);
      if (map != kMaps.end()) {
        fields[std::string(map->json)] = map_of(part, *map);
      } else if (name.ends_with(kEntry)) {
        fields["Entries"] = list_of(part, false, [&](const Node& item) { return fields_of(item); });
      } else if (list != kLists.end() && name != "QueueUrl") {
        fields[std::string(list->json)] = list_of(
            part, part.text.has_value(), [](const Node& item) { return json(text_of(item)); });
      } else if (part.text) {
        fields[name] = scalar_of(name, *part.text);
      }
    }
    return fields;
  }

  const std::string& twice() const { return twice_; }  // A key that a map has twice.

 private:
  // "X.1", "X.2" and so on, in the order of the numbers; old clients leave the number of one out.
  template <typename Read>
  static json list_of(const Node& node, bool plain, Read read) {
    json list = json::array();
    if (plain) list.push_back(read(node));
    for (const auto& [number, item] : node.parts) {
      if (number.find_first_not_of("0123456789") == std::string::npos) list.push_back(read(item));
    }
    return list;
  }

  json map_of(const Node& node, const MapName& name) {
    json map = json::object();
    const auto take = [&](const Node& item) {
      const std::string key = part_text(item, name.key);
      const auto value = item.parts.find("Value");
      const bool plain = value == item.parts.end() || value->second.parts.empty();
      if (map.contains(key)) twice_ = key;
      map[key] = plain ? json(part_text(item, "Value")) : fields_of(value->second);
      return json();
    };
    list_of(node, node.parts.contains(std::string(name.key)), take);
    return map;
  }

  // What is no number stays text, which the operation refuses.
  static json scalar_of(const std::string& name, const std::string& text) {
    if (std::ranges::find(kNumbers, name) == kNumbers.end()) return text;
    int64_t number = 0;
    const char* end = text.data() + text.size();
    const auto parsed = std::from_chars(text.data(), end, number);
    if (text.empty() || parsed.ec != std::errc() || parsed.ptr != end) return text;
    return number;
  }

  std::string twice_;
};

std::optional<SqsError> add_all(Node& root, std::string_view body, const Query& from_url) {
  if (static_cast<size_t>(std::ranges::count(body, '&')) + from_url.size() >= kParametersMax) {
    return SqsError{"MalformedQueryString",
                    fmt::format("a request has at most {} parameters", kParametersMax)};
  }
  std::string form(body);
  std::ranges::replace(form, '+', ' ');
  std::optional<Query> query = parse_query(form);
  if (!query) return SqsError{"MalformedQueryString", "the body is not a form as browsers send it"};
  query->insert(query->end(), from_url.begin(), from_url.end());
  for (auto& [name, value] : *query) {
    if (name.starts_with("X-Amz-")) continue;
    if (auto error = add(root, name, std::move(value))) return error;
  }
  return std::nullopt;
}

// --- Answers ---

void append_leaf(std::string_view name, const json& value, std::string& out) {
  const std::string* text = value.get_ptr<const std::string*>();
  // Through dump(), which replaces what is not UTF-8.
  const std::string fit = text && is_utf8(*text) ? *text
                          : text                 ? json::parse(dump(value)).get<std::string>()
                                                 : dump(value);
  out += fmt::format("<{0}>{1}</{0}>", name, xml_text(fit));
}

void append_fields(const json& fields, std::string_view operation, std::string& out);

void append_value(std::string_view name, const json& value, std::string_view operation,
                  std::string& out) {
  if (!value.is_object()) return append_leaf(name, value, out);
  out += fmt::format("<{}>", name);
  append_fields(value, operation, out);
  out += fmt::format("</{}>", name);
}

void append_map(const MapName& name, const json& map, std::string& out) {
  for (const auto& [key, value] : map.items()) {
    out += fmt::format("<{}>", name.query);
    append_leaf(name.key, key, out);
    append_value("Value", value, "", out);
    out += fmt::format("</{}>", name.query);
  }
}

void append_fields(const json& fields, std::string_view operation, std::string& out) {
  for (const auto& [name, value] : fields.items()) {
    const auto* list = std::ranges::find(kLists, name, &ListName::json);
    const auto* map = std::ranges::find(kMaps, name, &MapName::json);
    if (map != kMaps.end() && value.is_object()) {
      append_map(*map, value, out);
    } else if (value.is_array()) {
      const std::string item_name = name == "Successful"   ? fmt::format("{}ResultEntry", operation)
                                    : name == "Failed"     ? "BatchResultErrorEntry"
                                    : list != kLists.end() ? std::string(list->query)
                                                           : name;
      for (const json& item : value) append_value(item_name, item, operation, out);
    } else {
      append_value(name, value, operation, out);
    }
  }
}

}  // namespace

std::variant<QueryRequest, SqsError> read_query(const http::HttpHead& head, std::string_view body) {
  Node root;
  if (auto error = add_all(root, body, head.query)) return *error;
  QueryRequest request;
  request.action = part_text(root, "Action");
  request.version = part_text(root, "Version");
  if (request.version.empty()) request.version = kQueryVersions[0];
  if (std::ranges::find(kQueryVersions, request.version) == kQueryVersions.end()) {
    return SqsError{"NoSuchVersion", fmt::format("this hub speaks {} of SQS's Query protocol",
                                                 fmt::join(kQueryVersions, ", "))};
  }
  if (request.action.empty()) {
    return SqsError{"MissingAction", "the request has no Action: SQS's Query protocol needs one"};
  }
  Reader reader;
  request.in = reader.fields_of(root);
  if (!reader.twice().empty()) {
    return wrong(
        fmt::format("the name '{}' comes twice", escape(reader.twice().substr(0, kShownMax))));
  }
  if (!request.in.contains("QueueUrl") && head.path.size() > 1) {
    request.in["QueueUrl"] = percent_decode(head.path).value_or("");
  }
  // Only CreateQueue calls them so.
  if (request.action == "CreateQueue" && request.in.contains("Tags")) {
    request.in["tags"] = request.in["Tags"];
  }
  return request;
}

http::HttpReply query_answer(const SqsOperation& operation, std::string_view version,
                             const json& out) {
  std::string fields;
  append_fields(out, operation.name, fields);
  if (operation.has_result)
    fields = fmt::format("<{0}Result>{1}</{0}Result>", operation.name, fields);
  const std::string id = hex(random_bytes(16));
  return query_reply(200,
                     fmt::format("<{0}Response xmlns=\"http://queue.amazonaws.com/doc/{1}/\">{2}"
                                 "<ResponseMetadata><RequestId>{3}</RequestId></ResponseMetadata>"
                                 "</{0}Response>",
                                 operation.name, version, fields, id),
                     id);
}

}  // namespace dunlin::aws
