"""`claimcheck quota`: the account, the quotas, what does not fit and why."""

from __future__ import annotations

import copy
import json
import random
from pathlib import Path
from typing import Any

import pytest
import yaml

from commandline.main import main
from quota.explanation import NAMED_USERS
from quota.inventory import MAX_QUOTAS, QuotaInventory
from quota.namespace import Namespace
from resourceapi.quantity import amounts_of
from resourceapi.releases import Profile
from validation.server import Server

QUOTA = """apiVersion: v1
kind: ResourceQuota
metadata: {name: gpus}
spec:
  hard:
    small.example.com.deviceclass.resource.k8s.io/devices: "4"
    count/resourceclaims.resource.k8s.io: "3"
"""
CLAIM = """apiVersion: resource.k8s.io/v1
kind: ResourceClaim
metadata: {name: NAME}
spec:
  devices:
    requests:
    - name: gpu
      firstAvailable:
      - {name: large, deviceClassName: large.example.com}
      - {name: small, deviceClassName: small.example.com, count: 3}
      - {name: tiny, deviceClassName: small.example.com}
    - name: net
      exactly: {deviceClassName: nic, allocationMode: All}
"""
TEMPLATE = """apiVersion: resource.k8s.io/v1beta1
kind: ResourceClaimTemplate
metadata: {name: t}
spec: {spec: {devices: {requests: [{name: r, deviceClassName: small.example.com}]}}}
"""
DEPLOYMENT = """apiVersion: apps/v1
kind: Deployment
metadata: {name: web}
spec:
  replicas: 5
  selector: {matchLabels: {a: b}}
  template:
    metadata: {labels: {a: b}}
    spec:
      containers: [{name: c, image: i}]
      resourceClaims: [{name: gpu, resourceClaimTemplateName: t}]
"""


ODD: tuple[Any, ...] = (
    None,
    [],
    {},
    "",
    0,
    -1,
    2**70,
    True,
    "x",
    1.5,
    [None],
    {"a": None},
    "1e9999999",
    "9" * 50,
)


def named(*names: str) -> str:
    return "---\n".join(CLAIM.replace("NAME", name) for name in names)


def run(tmp_path: Path, capsys: pytest.CaptureFixture[str], text: str, *options: str) -> tuple[int, str]:
    """Exit code and output for one file with this text, named `in.yaml`."""
    file = tmp_path / "in.yaml"
    file.write_text(text, encoding="utf-8")
    code = main(["quota", *options, str(file)])
    return code, capsys.readouterr().out.replace(str(file), "in.yaml")


def account(tmp_path: Path, capsys: pytest.CaptureFixture[str], text: str, *options: str) -> tuple[int, Any]:
    code, out = run(tmp_path, capsys, text, "-o", "json", *options)
    return code, json.loads(out)


def stored(tmp_path: Path, text: str, name: str = "stored.yaml") -> str:
    file = tmp_path / name
    file.write_text(text, encoding="utf-8")
    return str(file)


def test_account_of_a_claim(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Every request and alternative, what of it counts and why; without a quota all fits."""
    assert run(tmp_path, capsys, named("a")) == (
        0,
        (
            "claim default/a (in.yaml:1): fits\n"
            "  gpu/large  class large.example.com, ExactCount 1: counts, the largest number of this class in the request\n"
            "  gpu/small  class small.example.com, ExactCount 3: counts, the largest number of this class in the request\n"
            "  gpu/tiny   class small.example.com, ExactCount 1: does not count, another alternative of this class does\n"
            "  net        class nic, All: 32, the maximum per claim: counts\n"
            "  counts large.example.com 1, nic 32, small.example.com 3\n"
            "\n"
            "1 object: 0 refused; no ResourceQuota was given: use --quota FILE, --inventory DIR or --live\n"
        ),
    )


def test_namespace_without_a_quota(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Quotas of other namespaces limit nothing, and that is said."""
    elsewhere = QUOTA.replace("name: gpus", "name: gpus, namespace: elsewhere")
    code, out = run(tmp_path, capsys, named("a"), "--quota", stored(tmp_path, elsewhere))
    assert code == 0
    assert out.endswith("\n1 object: 0 refused; no ResourceQuota in namespace default\n")


def test_quota_that_is_not_there(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """There is no account without the quotas that it was to be about."""
    for option in ("--quota", "--inventory"):
        assert main(["quota", stored(tmp_path, named("a")), option, "/no/where"]) == 2
        captured = capsys.readouterr()
        assert captured.out == ""
        assert captured.err == f"claimcheck: {option} /no/where: no such file or directory\n"


def test_claims_are_charged_in_order(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The first one fits, the second one does not, and the quota's table shows what is left."""
    code, out = run(tmp_path, capsys, named("a", "b"), "--quota", stored(tmp_path, QUOTA))
    assert code == 1
    assert "claim default/b (in.yaml:15): does not fit\n" in out
    assert (
        '  error: 2 too few devices of class "small.example.com" '
        "(small.example.com.deviceclass.resource.k8s.io/devices): "
        'needed 3 for request "gpu", alternative "small" (class "small.example.com", ExactCount): 3, '
        'quota "gpus" leaves 1 of 4 (used by claim "a" 3)\n' in out
    )
    assert out.endswith(
        "quota default/gpus\n"
        "  resource                                               used before  now  limit  left\n"
        "  count/resourceclaims.resource.k8s.io                             0    1      3     2\n"
        "  small.example.com.deviceclass.resource.k8s.io/devices            0    3      4     1\n"
        "\n"
        "2 objects: 1 refused\n"
    )


def test_workloads_make_claims(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A Deployment's pods get claims from the template, one each, as long as they fit."""
    text = f"{DEPLOYMENT}---\n{TEMPLATE}---\n{QUOTA}"
    code, document = account(tmp_path, capsys, text)
    assert code == 1
    template, deployment = document["objects"]
    assert (template["verdict"], template["devices"]) == ("per claim", {"small.example.com": 1})
    assert (deployment["claims"], deployment["fitting"]) == (5, 3)
    assert deployment["problems"][0].startswith("1 too few claims: needed 1")


def test_inventory_is_charged_first(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Claims that are there use their part, whether a quota's status says so or not; the same claim is not charged twice."""
    there = stored(tmp_path, "---\n".join((QUOTA, named("a"))))
    code, document = account(tmp_path, capsys, named("a", "b"), "--inventory", there)
    assert code == 1
    assert [entry["verdict"] for entry in document["objects"]] == ["is there already", "does not fit"]
    used = document["quotas"][0]["resources"]["small.example.com.deviceclass.resource.k8s.io/devices"]
    assert used == {"usedBefore": "3", "used": "3", "limit": "4", "left": "1"}


def test_status_of_a_quota_counts(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """What a live quota says is used is used, even if nobody knows by whom."""
    live = QUOTA + 'status: {used: {count/resourceclaims.resource.k8s.io: "3"}}\n'
    code, document = account(tmp_path, capsys, named("a"), "--quota", stored(tmp_path, live))
    assert code == 1
    assert document["objects"][0]["problems"] == [
        '1 too few claims: needed 1, quota "gpus" has none left of 3 (used by others 3)'
    ]


def test_extended_resources(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Limits on requests for an extended resource hold for claims of its class, if the release has that on."""
    text = "---\n".join(
        (
            QUOTA.replace(
                "small.example.com.deviceclass.resource.k8s.io/devices", "requests.example.com/nic"
            ),
            (
                "apiVersion: resource.k8s.io/v1\nkind: DeviceClass\nmetadata: {name: nic}\n"
                "spec: {extendedResourceName: example.com/nic}\n"
            ),
            named("a"),
        )
    )
    code, document = account(tmp_path, capsys, text)
    assert code == 1
    assert document["objects"][0]["problems"][0].startswith(
        '28 too few devices of class "nic" (requests.example.com/nic): needed 32 for request "net"'
    )
    assert account(tmp_path, capsys, text, "--kube-version", "1.34")[0] == 0


def test_namespaces_are_apart(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A quota is about its own namespace only."""
    code, document = account(
        tmp_path, capsys, named("a", "b"), "--namespace", "other", "--quota", stored(tmp_path, QUOTA)
    )
    assert code == 1
    elsewhere = QUOTA.replace("{name: gpus}", "{name: gpus, namespace: third}")
    code, document = account(tmp_path, capsys, named("a", "b"), "--quota", stored(tmp_path, elsewhere))
    assert (code, document["quotas"][0]["namespace"]) == (0, "third")


def test_invalid_claims_count_nothing(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """What the server refuses is not charged; its message is shown."""
    code, document = account(tmp_path, capsys, named("a").replace("count: 3", "count: -1"))
    assert code == 1
    assert document["objects"][0]["verdict"] == "invalid"
    assert "count: Invalid value: -1" in document["objects"][0]["problems"][0]


@pytest.mark.parametrize(
    "text",
    [
        pytest.param(QUOTA.replace('"4"', '"2500m"'), id="refused-quota"),
        pytest.param("spec: [", id="no-yaml"),
        pytest.param(QUOTA.replace("{name: gpus}", "[]"), id="metadata-is-a-list"),
    ],
)
def test_what_cannot_be_done(tmp_path: Path, capsys: pytest.CaptureFixture[str], text: str) -> None:
    """A quota that cannot be, or no YAML at all: the rest is still shown, and the exit code tells."""
    code, document = account(tmp_path, capsys, named("a"), "--quota", stored(tmp_path, text))
    assert code == 2
    assert len(document["failures"]) == 1
    assert document["objects"][0]["verdict"] == "fits"


def test_inventory_that_no_server_can_have_stored(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Its line is that of the value, in each of several documents."""
    broken = named("b").replace("- name: net", "- name: 5")
    line = broken[: broken.index("- name: 5")].count("\n") + 1
    code, document = account(tmp_path, capsys, named("a"), "--inventory", stored(tmp_path, broken))
    assert code == 2
    [failure] = document["failures"]
    assert failure["message"].startswith(f"line {line}: json: cannot unmarshal number into")


def test_replicas_beyond_all_bounds(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The number of replicas does not matter for the time that it takes."""
    text = "---\n".join((DEPLOYMENT.replace("5", "2147483647"), TEMPLATE, QUOTA))
    code, document = account(tmp_path, capsys, text)
    assert (code, document["objects"][1]["fitting"]) == (1, 3)


def test_few_tries_for_claims_that_do_not_fit(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """All claims of a workload are tried, then one, then none is charged, and one is asked about for the report."""
    tried: list[int] = []
    charge = Namespace.charge

    def counting(self: Namespace, *args: Any, copies: int = 1, **options: Any) -> Any:
        tried.append(copies)
        return charge(self, *args, copies=copies, **options)

    monkeypatch.setattr(Namespace, "charge", counting)
    text = "---\n".join((DEPLOYMENT.replace("5", "2147483647"), TEMPLATE, QUOTA.replace('"3"', '"0"')))
    code, document = account(tmp_path, capsys, text)
    assert (code, document["objects"][1]["fitting"]) == (1, 0)
    assert tried == [2147483647, 1, 0, 1]


@pytest.mark.parametrize("more", [0, 1], ids=["at-the-limit", "one-above"])
def test_number_of_quotas_of_a_namespace(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], more: int
) -> None:
    """What is charged to no quota is an error; one that replaces another, or has another namespace, is not counted."""
    quotas = [QUOTA.replace("gpus", f"q{number}") for number in range(MAX_QUOTAS + more)]
    text = "---\n".join(
        (*quotas, QUOTA.replace("gpus", "q0"), QUOTA.replace("gpus", "q, namespace: other"), named("a"))
    )
    code, document = account(tmp_path, capsys, text)
    problem = "line 801: namespace default has more than 100 ResourceQuotas: no object is charged to this one"
    assert (code, [failure["message"] for failure in document["failures"]]) == (
        (2, [problem]) if more else (0, [])
    )
    assert len(document["quotas"]) == MAX_QUOTAS + 1


def test_largest_users_are_kept() -> None:
    """Only users that a refusal names are kept for it, also if their usage grows one after the other."""
    inventory = QuotaInventory(Server(Profile()), "team", lambda manifest, reason, path: None)
    for amount in (1, 2):
        for number in range(20):
            inventory.note_user("team", "Pod", f"p{number:02}", amounts_of({"gpu": f"{amount * number}"}))
    assert [str(user) for user in inventory.users_of("team", "gpu")] == [
        f'Pod "p{number:02}" {3 * number}' for number in (19, 18, 17, 16, 15)
    ][:NAMED_USERS]


def mutated(dice: random.Random, value: Any) -> Any:
    """A copy in which one part is gone or something else."""
    if not isinstance(value, (dict, list)) or not value or dice.random() < 0.15:
        return copy.deepcopy(dice.choice(ODD))
    changed = copy.copy(value)
    key = dice.choice(list(changed) if isinstance(changed, dict) else range(len(changed)))
    if dice.random() < 0.1:
        del changed[key]
    else:
        changed[key] = mutated(dice, changed[key])
    return changed


@pytest.mark.parametrize("seed", range(40))
def test_no_manifest_makes_it_fail(tmp_path: Path, capsys: pytest.CaptureFixture[str], seed: int) -> None:
    """Whatever is wrong with claims, templates, workloads or quotas: there is an account and an exit code."""
    dice = random.Random(seed)
    texts = (QUOTA, TEMPLATE, DEPLOYMENT, named("a"), named("b"))
    sides = []
    for name in ("there.yaml", "new.yaml"):
        objects = [yaml.safe_load(text) for text in texts]
        changed = [mutated(dice, value) if dice.random() < 0.5 else value for value in objects]
        sides.append(stored(tmp_path, yaml.safe_dump_all(changed), name))
    assert main(["quota", "-o", "json", "--inventory", *sides]) in (0, 1, 2)
    assert json.loads(capsys.readouterr().out).keys() == {"objects", "quotas", "failures"}


@pytest.mark.parametrize(
    ("gates", "used"),
    [
        ("GenericWorkload=true,DRAWorkloadResourceClaims=true", "1"),
        # servers drop the claims of groups, or of which group a pod is
        ("GenericWorkload=true", "3"),
        ("DRADeviceTaints=true", "3"),
    ],
)
def test_claims_of_pod_groups(
    gates: str, used: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A claim that the pods of a PodGroup share is created once, for the group."""
    group = """apiVersion: scheduling.k8s.io/v1beta1
kind: PodGroup
metadata: {name: g}
spec:
  schedulingPolicy: {basic: {}}
  resourceClaims: [{name: gpu, resourceClaimTemplateName: t}]
"""
    pods = DEPLOYMENT.replace("resourceClaims:", "schedulingGroup: {podGroupName: g}\n      resourceClaims:")
    file = tmp_path / "objects.yaml"
    file.write_text(f"{QUOTA}---\n{TEMPLATE}---\n{pods}---\n{group}", encoding="utf-8")
    main(["quota", str(file), "--feature-gates", gates, "-o", "json"])
    (quota,) = json.loads(capsys.readouterr().out)["quotas"]
    assert quota["resources"]["count/resourceclaims.resource.k8s.io"]["used"] == used
