"""Documents that are made to break a reader, and ones that merely look like it."""

from __future__ import annotations

import json

_HEAD = b"apiVersion: resource.k8s.io/v1\nkind: ResourceClaim\nmetadata:\n  name: a\n"
_DEPTH = 10_000
_BIG = 3 * 1024 * 1024


def _claim(rest: bytes) -> bytes:
    return _HEAD + rest


def _bomb(width: int, levels: int) -> bytes:
    lines = [b"l0: &l0 [x]"]
    for level in range(1, levels):
        aliases = b", ".join([b"*l%d" % (level - 1)] * width)
        lines.append(b"l%d: &l%d [%s]" % (level, level, aliases))
    return b"\n".join(lines) + b"\n"


def _annotations(count: int) -> bytes:
    entries = b"".join(
        b"    key-%d: some text that is as long as most values are\n" % number for number in range(count)
    )
    return _claim(b"  annotations:\n" + entries)


def _json(**fields: object) -> bytes:
    return json.dumps(
        {"apiVersion": "resource.k8s.io/v1", "kind": "ResourceClaim", "metadata": {"name": "a"}, **fields}
    ).encode()


DOCUMENTS: dict[str, bytes] = {
    "alias-bomb": _claim(_bomb(10, 12)),
    "alias-bomb-of-keys": _claim(b"a: &a {x: 1}\n" + b"".join(b"b%d: {<<: *a}\n" % n for n in range(20_000))),
    "alias-to-itself": _claim(b"spec: &a\n  devices: *a\n"),
    "deep-flow-sequence": _claim(b"spec: " + b"[" * _DEPTH + b"]" * _DEPTH),
    "deep-flow-mapping": _claim(b"spec: " + b"{a: " * _DEPTH + b"}" * _DEPTH),
    "deep-block-sequence": _claim(b"spec:\n" + b"- " * _DEPTH + b"a\n"),
    "deep-block-mapping": _claim(b"spec:\n" + b"".join(b" " * n + b"a:\n" for n in range(1, 2_000))),
    "deep-json": b'{"kind": ' + b'{"a": ' * _DEPTH + b"1" + b"}" * _DEPTH + b"}",
    "deep-json-sequence": b'{"kind": ' + b"[" * _DEPTH + b"]" * _DEPTH + b"}",
    "unclosed-brackets": b"[" * 100_000,
    "unclosed-json": b'{"a":' * 100_000,
    "three-megabytes-of-fields": _annotations(_BIG // 60),
    "three-megabytes-of-text": _claim(b"  annotations:\n    a: " + b"x" * _BIG + b"\n"),
    "three-megabytes-in-quotes": _claim(b'  annotations:\n    a: "' + b"\\u00e9" * (_BIG // 6) + b'"\n'),
    "three-megabytes-of-json": _json(spec={"devices": {"requests": [{"name": "a"}] * (_BIG // 16)}}),
    "three-megabytes-of-entries": _claim(b"spec: &a [" + b"1," * (_BIG // 2) + b"1]\n"),
    "three-megabytes-of-block-entries": _claim(b"spec: &a\n" + b"- 1\n" * (_BIG // 4)),
    "three-megabytes-of-empty-mappings": _claim(b"spec: &a [" + b"{}," * (_BIG // 3) + b"1]\n"),
    "three-megabytes-of-blanks": _claim(b" " * _BIG),
    "three-megabytes-of-separators": b"---\n" * (_BIG // 4),
    "three-megabytes-of-comment": _claim(b"# " + b"x" * _BIG),
    "three-megabytes-of-key": _claim(b"x" * _BIG + b": 1\n"),
    "three-megabytes-of-digits": _claim(b"spec: " + b"9" * _BIG + b"\n"),
    "huge-integer": _claim(
        b"spec:\n  devices: {requests: [{name: a, exactly: {count: " + b"9" * 5_000 + b"}}]}\n"
    ),
    "huge-json-integer": b'{"apiVersion": "v1", "kind": ' + b"9" * 5_000 + b"}",
    "huge-exponent": _claim(b"spec:\n  devices: {requests: [{name: a, exactly: {count: 1e999999999}}]}\n"),
    "huge-quantity": _claim(
        b"spec: {devices: {requests: [{name: a, exactly: {deviceClassName: b, capacity: {requests: {c: "
        + b"9" * 5_000
        + b"E}}}}]}}\n"
    ),
    "huge-quantity-exponent": _claim(
        b'spec: {devices: {requests: [{name: a, exactly: {deviceClassName: b, capacity: {requests: {c: "1e999999999"'
        b"}}}}]}}\n"
    ),
    "not-a-number": _claim(b"spec: .nan\n"),
    "infinity": _claim(b"spec: -.inf\n"),
    "not-a-number-in-json": b'{"apiVersion": "v1", "kind": NaN}',
    "duplicate-keys": _claim(b"metadata:\n  name: b\n"),
    "duplicate-keys-in-json": b'{"apiVersion": "v1", "apiVersion": "v1", "kind": "Pod", "kind": "Pod"}',
    "many-duplicate-keys": _claim(b"  name: b\n" * 100_000),
    "latin-1": _claim(b"  annotations: {a: caf\xe9}\n"),
    "utf-16": _HEAD.decode().encode("utf-16"),
    "half-a-surrogate": _claim(b'  annotations: {a: "\\ud800"}\n'),
    "half-a-surrogate-in-json": b'{"apiVersion": "v1", "kind": "\\ud800"}',
    "nul": _claim(b"  annotations: {a: \x00}\n"),
    "byte-order-marks": b"\xef\xbb\xbf" * 3 + _HEAD,
    "only-a-tag": b"!!python/object/apply:os.system ['true']\n",
    "binary": bytes(range(256)) * 100,
    "carriage-returns": _HEAD.replace(b"\n", b"\r"),
    "typographic-separator": _HEAD + b"\xe2\x80\x93--\n" + _HEAD,
    "yaml-directive": b"%YAML 1.2\n---\n" + _HEAD,
    "complex-key": _claim(b"? [a, b]\n: c\n"),
    "empty-key": _claim(b"? \n: c\n"),
}
