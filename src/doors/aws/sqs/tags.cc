// Tags of SQS's queues: kept, shown, and otherwise without a meaning.
#include <array>
#include <fmt/format.h>

#include "base/text.h"
#include "doors/aws/sqs/sqs.h"

namespace dunlin::aws {
namespace {

constexpr size_t kTagsMax = 50;
constexpr size_t kTagNameMax = 128;
constexpr size_t kTagValueMax = 256;

// Changes the tags of a queue; `change` says what is wrong with them then, if anything is.
void change_tags(SqsCall& call, const json& in,
                 const std::function<std::optional<SqsError>(json& tags)>& change, int tries) {
  with_queue(call, in, [&call, in, change, tries](const SqsQueue& found) {
    SqsQueue queue = found;
    if (const std::optional<SqsError> wrong = change(queue.tags)) return call.fail(*wrong);
    call.ask(Commit{0, {put_of(queue)}}, [&call, in, change, tries](Answer&& answer) {
      const auto* error = std::get_if<Error>(&answer);
      if (error && error->code == Code::conflict && tries > 0) {
        return change_tags(call, in, change, tries - 1);
      }
      if (call.expect<Committed>(answer)) call.answer(json::object());
    });
  });
}

void tag(SqsCall& call, const json& in) {
  const json more = object_or_empty(in, "Tags");
  change_tags(
      call, in,
      [more](json& tags) {
        tags.update(more);
        return check_tags(tags);
      },
      kTriesMax);
}

void untag(SqsCall& call, const json& in) {
  const std::set<std::string> names = names_in(in, "TagKeys");
  change_tags(
      call, in,
      [names](json& tags) -> std::optional<SqsError> {
        for (const std::string& name : names) tags.erase(name);
        return std::nullopt;
      },
      kTriesMax);
}

void list_tags(SqsCall& call, const json& in) {
  with_queue(call, in, [&call](const SqsQueue& queue) {
    call.answer(queue.tags.empty() ? json::object() : json{{"Tags", queue.tags}});
  });
}

}  // namespace

std::optional<SqsError> check_tags(const json& tags) {
  if (tags.size() > kTagsMax) {
    return SqsError{"InvalidParameterValue", fmt::format("a queue has at most {} tags", kTagsMax)};
  }
  for (const auto& [name, value] : tags.items()) {
    const std::string* text = value.get_ptr<const std::string*>();
    if (!name.empty() && name.size() <= kTagNameMax && text && text->size() <= kTagValueMax) {
      continue;
    }
    return SqsError{"InvalidParameterValue",
                    fmt::format("the tag '{}': a tag's key has 1 to {} bytes, its value at most {}",
                                escape(name.substr(0, kTagNameMax)), kTagNameMax, kTagValueMax)};
  }
  return std::nullopt;
}

std::span<const SqsOperation> sqs_tag_operations() {
  static constexpr std::array<SqsOperation, 3> kOperations = {
      {{"TagQueue", tag, kLook | kChange, false},
       {"UntagQueue", untag, kLook | kChange, false},
       {"ListQueueTags", list_tags}}};
  return kOperations;
}

}  // namespace dunlin::aws
