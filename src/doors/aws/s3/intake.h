// Bytes on their way into a blob: hashed, summed and sent on in parts as they come. A derived class
// says where they come from: the body of a call, or other blobs. Errors are replied to. One thread,
// the door's.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "base/digest.h"
#include "doors/aws/s3/s3.h"

namespace dunlin::aws {

inline constexpr uint64_t kUploadMax = uint64_t{5} << 30U;  // Bytes, as in S3.

class BlobIntake : public Intake {
 public:
  BlobIntake(Call& call, const std::vector<ChecksumKind>& kinds, std::function<void(Intake&)> then);
  ~BlobIntake() override;
  BlobIntake(const BlobIntake&) = delete;
  BlobIntake& operator=(const BlobIntake&) = delete;

  const Piece& piece() const override { return piece_; }
  const std::string& md5() const override { return md5_bytes_; }
  const Checksum* checksum(ChecksumKind kind) const override;
  void keep() override { kept_ = true; }

  void pump();  // Goes on, and ends with `then` or with a reply.

 protected:
  virtual void read_more() = 0;         // Calls take() and pump().
  virtual bool is_as_said() = 0;        // At the end; replies if not.
  void take(const std::string& bytes);  // The next ones.
  void ended() { ended_ = true; }       // There are no more.
  Call& call() { return call_; }

 private:
  void send_part();
  void finish();

  Call& call_;
  std::function<void(Intake&)> then_;
  const uint64_t upload_;
  std::string pending_;
  uint64_t offset_ = 0;
  bool ended_ = false;
  Digest md5_{Digest::Kind::md5};
  std::vector<ChecksumSum> sums_;
  Piece piece_;
  std::string md5_bytes_;
  std::vector<Checksum> checksums_;
  std::optional<Error> failed_;
  bool named_ = false;
  bool kept_ = false;
};

}  // namespace dunlin::aws
