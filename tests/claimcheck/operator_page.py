"""What an operator of training jobs would write: makes claims for its pods, and asks before it creates them."""

from __future__ import annotations

import sys

from kubernetes import client

import claimcheck

IMAGE = "registry.example.com/train:1"


def template(profile: str) -> client.V1ResourceClaimTemplate:
    """The template of claims for one device of a profile."""
    expression = f'device.attributes["gpu.example.com"].profile == "{profile}"'
    request = client.V1DeviceRequest(
        name="gpu",
        exactly=client.V1ExactDeviceRequest(
            device_class_name="gpu.example.com",
            selectors=[client.V1DeviceSelector(cel=client.V1CELDeviceSelector(expression=expression))],
        ),
    )
    return client.V1ResourceClaimTemplate(
        metadata=client.V1ObjectMeta(name=profile),
        spec=client.V1ResourceClaimTemplateSpec(
            spec=client.V1ResourceClaimSpec(devices=client.V1DeviceClaim(requests=[request]))
        ),
    )


def worker(profile: str) -> client.V1Pod:
    """A pod that uses such a claim."""
    container = client.V1Container(
        name="worker",
        image=IMAGE,
        resources=client.V1ResourceRequirements(claims=[client.CoreV1ResourceClaim(name="gpu")]),
    )
    claim = client.V1PodResourceClaim(name="gpu", resource_claim_template_name=profile)
    return client.V1Pod(
        metadata=client.V1ObjectMeta(name=f"worker-{profile.lower()}"),
        spec=client.V1PodSpec(containers=[container], resource_claims=[claim]),
    )


def main() -> None:
    """Say for each profile whether a worker would get its device."""
    cluster = claimcheck.Cluster.from_files(sys.argv[1])
    for profile in ("half", "full", "GPU"):
        objects = [template(profile), worker(profile)]
        findings: list[claimcheck.Finding] = claimcheck.validate(objects, cluster=cluster)
        errors = [each for each in findings if each.severity == "error"]
        if errors:
            print(f"{profile}: {errors[0].path}: refused")
            continue
        try:
            explanation = claimcheck.explain(objects, cluster)
        except claimcheck.ClaimcheckError as error:
            sys.exit(str(error))
        where = f"fits on {explanation.node}" if explanation.fits else explanation.reason
        print(f"{profile}: {where}")


if __name__ == "__main__":
    main()
