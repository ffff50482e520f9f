// pure: tests of provision/kube/pool_facts.
#include "provision/kube/pool_facts.h"

#include "provision/kube/manifests.h"
#include "support/catch.h"
#include "unit/provision/kube/full_spec.h"
#include "unit/provision/sample.h"

using namespace agentbox;
using namespace agentbox::provision;
using namespace agentbox::provision::kube;

namespace {

const BoxName kWarm = BoxName::parse("warm").value();
const BoxName kSmall = BoxName::parse("small").value();

Json plain(const OrderedJson& value) { return parse_json(dump_json(value)).value(); }

Json managed(const char* manager, const char* operation) {
  Json entry = Json::parse(R"({"fieldsV1":{"f:spec":{"f:replicas":{}}}})");
  entry["manager"] = manager;
  entry["operation"] = operation;
  return Json::array({entry});
}

}  // namespace

TEST_CASE("pools: a template is read back as it was made") {
  const auto facts = read_template(plain(sandbox_template(kSmall, "boxes", full_spec())));
  REQUIRE(facts.ok());
  CHECK(facts->name == "small");
  CHECK(facts->image == "images.example/tools:7");
  CHECK(facts->door_image.starts_with("images.example/agentbox-door@sha256:"));
  CHECK(facts->egress == "list 192.0.2.0/24 169.254.0.0/16 2001:db8::/32");
}

TEST_CASE("pools: a pool is read back, and whose its number of replicas is") {
  Json pool = plain(warm_pool(kWarm, "boxes", kSmall, 3));
  pool["metadata"]["uid"] = "u-1";
  pool["status"]["readyReplicas"] = 2U;
  const auto facts = read_pool(pool);
  REQUIRE(facts.ok());
  CHECK(facts->name == "warm");
  CHECK(facts->uid == "u-1");
  CHECK(facts->from_template == "small");
  CHECK(facts->replicas == 3);
  CHECK(facts->ready == 2);
  CHECK_FALSE(facts->replicas_are_ours);
  pool["metadata"]["managedFields"] = managed(kBaseManager, "Apply");
  CHECK(read_pool(pool)->replicas_are_ours);
  pool["metadata"]["managedFields"] = managed(kBaseManager, "Update");
  CHECK_FALSE(read_pool(pool)->replicas_are_ours);
  pool["metadata"]["managedFields"] = managed("autoscaler", "Apply");
  CHECK_FALSE(read_pool(pool)->replicas_are_ours);
}

TEST_CASE("pools: what agentbox-provision did not make, or what is no name, is refused") {
  Json pool = plain(warm_pool(kWarm, "boxes", kSmall, 3));
  pool["spec"]["sandboxTemplateRef"]["name"] = "../x";
  CHECK(read_pool(pool).error().exit == Exit::kRefused);
  pool["metadata"].erase("labels");
  CHECK(read_pool(pool).error().message.find("did not make it") != std::string::npos);
  Json made = plain(sandbox_template(kSmall, "boxes", {}));
  made["metadata"]["labels"][kManagedByLabel] = "somebody";
  CHECK(read_template(made).error().exit == Exit::kRefused);
  CHECK_FALSE(read_template(Json()).ok());
  CHECK_FALSE(read_pool(Json::array()).ok());
}

TEST_CASE("pools: which claims a pool may not be taken from") {
  Json claim = plain(sandbox_claim(kSmall, "boxes", "warm", ""));
  CHECK(pool_of_claim(claim) == "warm");
  CHECK_FALSE(lets_somebody_in(claim));
  const auto with = [&](const DoorKeys& keys) {
    OrderedJson both = OrderedJson::parse(dump_json(claim));
    both.merge_patch(keys_part(in_claim("small"), "boxes", keys).value());
    return plain(both);
  };
  CHECK_FALSE(lets_somebody_in(with({{}, {"serial:7"}, 4})));
  CHECK(lets_somebody_in(with({{sample::key(sample::kKey)}, {}, 4})));
  CHECK(lets_somebody_in(with({{}, {}, 4, {sample::key(sample::kKey)}})));
  claim["spec"]["warmPoolRef"]["name"] = "a b";
  CHECK(pool_of_claim(claim).empty());
}
