"""Certificates: valid at any time, renewed and rotated without a moment at which a client would not trust them."""

from __future__ import annotations

import ssl
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec, rsa
from cryptography.x509.oid import ExtendedKeyUsageOID
from cryptography.x509.verification import ExtensionPolicy, PolicyBuilder, Store

from resourceapi.errors import WriteConflict
from serving.certificate_store import DirectoryStore, maintain
from serving.certificates import (
    AUTHORITY,
    AUTHORITY_KEY,
    BUNDLE,
    CLIENT,
    CLIENT_KEY,
    LEAF,
    LEAF_KEY,
    SUCCESSOR,
    Entries,
    Terms,
    advance,
)

START = datetime(2026, 1, 1, tzinfo=UTC)
DAY = timedelta(days=1)
TERMS = Terms(("localhost", "127.0.0.1", "webhook.system.svc"), 90 * DAY, 30 * DAY, 2 * DAY)


def leaf(entries: Entries) -> x509.Certificate:
    return x509.load_pem_x509_certificate(entries[LEAF])


def bundle(entries: Entries) -> list[x509.Certificate]:
    return x509.load_pem_x509_certificates(entries[BUNDLE])


def trusts(trusted: list[x509.Certificate], entries: Entries, now: datetime) -> bool:
    """Whether a client that trusts these certificates accepts the leaf."""
    policy = PolicyBuilder().store(Store(trusted)).time(now)
    try:
        policy.build_server_verifier(x509.DNSName("webhook.system.svc")).verify(leaf(entries), [])
    except x509.verification.VerificationError:
        return False
    return True


def test_first_certificates() -> None:
    """The first leaf is trusted by the bundle, for its names, from five minutes ago on."""
    entries = advance(None, TERMS, START)
    assert trusts(bundle(entries), entries, START)
    assert leaf(entries).not_valid_before_utc == START - timedelta(minutes=5)
    assert leaf(entries).not_valid_after_utc == START + 30 * DAY
    names = leaf(entries).extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    assert names.get_values_for_type(x509.DNSName) == ["localhost", "webhook.system.svc"]
    assert [str(address) for address in names.get_values_for_type(x509.IPAddress)] == ["127.0.0.1"]


@pytest.mark.parametrize(
    ("after", "changes"),
    [(timedelta(), False), (20 * DAY - timedelta(seconds=1), False), (20 * DAY, True)],
)
def test_leaf_is_renewed_after_two_thirds(after: timedelta, changes: bool) -> None:
    """A leaf is renewed after two thirds of its life, not before; its authority stays."""
    first = advance(None, TERMS, START)
    second = advance(first, TERMS, START + after)
    assert (second is not first) == changes
    assert (leaf(second) != leaf(first)) == changes
    assert bundle(second) == bundle(first)


def test_new_names_need_a_new_leaf() -> None:
    """A leaf for other names is replaced at once."""
    first = advance(None, TERMS, START)
    second = advance(first, TERMS._replace(names=("other",)), START)
    assert leaf(second) != leaf(first)


def test_leaf_never_outlives_its_authority() -> None:
    """A leaf that would last longer than its authority ends with it."""
    entries = advance(None, TERMS._replace(leaf_life=365 * DAY), START)
    assert leaf(entries).not_valid_after_utc == bundle(entries)[0].not_valid_after_utc


def test_new_authority_is_trusted_before_it_signs() -> None:
    """After two thirds a successor is trusted; leaves are of the old one until the lead has passed, then of the new."""
    first = advance(None, TERMS, START)
    known = advance(first, TERMS, START + 60 * DAY)
    assert len(bundle(known)) == 2
    assert leaf(known).issuer == bundle(first)[0].subject
    before = advance(known, TERMS, START + 62 * DAY - timedelta(seconds=1))
    assert leaf(before).issuer == bundle(first)[0].subject
    after = advance(before, TERMS, START + 62 * DAY)
    assert leaf(after).issuer == bundle(known)[1].subject
    assert SUCCESSOR not in after
    assert set(bundle(after)) == set(bundle(known))
    assert advance(after, TERMS, START + 62 * DAY) is after


@pytest.mark.parametrize("step", [timedelta(hours=7), timedelta(days=1), timedelta(days=1, hours=23)])
def test_years_of_rotation(step: timedelta) -> None:
    """At any time in years the leaf is valid, and trusted by clients whose bundle is as old as the lead."""
    now = START
    entries = advance(None, TERMS, now)
    history = [(now, bundle(entries))]
    authorities = {bundle(entries)[0]}
    while now < START + 400 * DAY:
        now += step
        entries = advance(entries, TERMS, now)
        history.append((now, bundle(entries)))
        authorities.update(bundle(entries))
        late = next(known for time, known in reversed(history) if time <= max(START, now - TERMS.trust_lead))
        assert trusts(late, entries, now)
        assert leaf(entries).not_valid_after_utc > now + step
        assert len(bundle(entries)) <= 2
    assert len(authorities) >= 6


def test_after_a_long_sleep() -> None:
    """Whatever has ended meanwhile is made anew."""
    entries = advance(advance(None, TERMS, START), TERMS, START + 1000 * DAY)
    assert trusts(bundle(entries), entries, START + 1000 * DAY)
    assert len(bundle(entries)) == 1


WITH_CLIENT = TERMS._replace(client_name="kube-scheduler")


def knows(entries: Entries, client: bytes, now: datetime) -> bool:
    """Whether the service accepts a client's certificate."""
    policy = PolicyBuilder().store(Store(bundle(entries))).time(now)
    policy = policy.extension_policies(
        ee_policy=ExtensionPolicy.permit_all(), ca_policy=ExtensionPolicy.webpki_defaults_ca()
    )
    try:
        policy.build_client_verifier().verify(x509.load_pem_x509_certificate(client), [])
    except x509.verification.VerificationError:
        return False
    return True


def test_client_gets_a_certificate() -> None:
    """It is for a client, of the name that was asked for, and lasts as long as its authority."""
    entries = advance(None, WITH_CLIENT, START)
    client = x509.load_pem_x509_certificate(entries[CLIENT])
    assert client.subject.rfc4514_string() == "CN=kube-scheduler"
    (usage,) = client.extensions.get_extension_for_class(x509.ExtendedKeyUsage).value
    assert usage == ExtendedKeyUsageOID.CLIENT_AUTH
    assert client.not_valid_after_utc == bundle(entries)[0].not_valid_after_utc
    assert knows(entries, entries[CLIENT], START)
    assert not knows(advance(None, WITH_CLIENT, START), entries[CLIENT], START)


def test_client_keeps_its_certificate_until_the_authority_goes() -> None:
    """A new leaf is no reason for another one; a client that has read it once is known for two thirds of its life at least."""
    entries = advance(None, WITH_CLIENT, START)
    first = entries[CLIENT]
    now = START
    while entries[CLIENT] == first:
        assert knows(entries, first, now)
        now += DAY
        entries = advance(entries, WITH_CLIENT, now)
    assert now - START > 60 * DAY
    assert knows(entries, first, now)
    assert knows(entries, entries[CLIENT], now)
    assert trusts(bundle(entries), entries, now)


@pytest.mark.parametrize(
    "change",
    [
        pytest.param({CLIENT: b""}, id="damaged"),
        pytest.param({CLIENT_KEY: advance(None, WITH_CLIENT, START)[CLIENT_KEY]}, id="key-of-another"),
        pytest.param(
            {name: advance(None, WITH_CLIENT, START)[name] for name in (CLIENT, CLIENT_KEY)}, id="of-another"
        ),
    ],
)
def test_client_alone_gets_another_certificate(change: Entries) -> None:
    """Where its own is missing or damaged, or the service is told of it later; the authority and the leaf stay."""
    entries = advance(None, TERMS, START)
    made = advance(entries | change, WITH_CLIENT, START + DAY)
    assert knows(made, made[CLIENT], START + DAY)
    assert {name: made[name] for name in entries} == entries
    renamed = advance(made, WITH_CLIENT._replace(client_name="other"), START + DAY)
    assert x509.load_pem_x509_certificate(renamed[CLIENT]).subject.rfc4514_string() == "CN=other"
    assert advance(made, WITH_CLIENT, START + 2 * DAY) is made


def test_damaged_entries_are_replaced() -> None:
    """Entries that cannot be read, or that do not belong together, are made anew."""
    good, other = advance(None, TERMS, START), advance(None, TERMS, START)
    damaged: list[Entries] = [
        {},
        {**good, LEAF: b"nothing"},
        {**good, LEAF_KEY: other[LEAF_KEY]},
        {name: value for name, value in good.items() if name != BUNDLE},
    ]
    for entries in damaged:
        made = advance(entries, TERMS, START)
        assert trusts(bundle(made), made, START)


def pem_of(key: Any, password: bytes | None = None) -> bytes:
    protection = serialization.BestAvailableEncryption(password) if password else serialization.NoEncryption()
    return bytes(key.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, protection))


def signed(subject: x509.Name, issuer: x509.Name, key: Any, signer: Any, *named: str) -> bytes:
    """A certificate as others would make it: without what ours have, but for names if there are any."""
    builder = (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(issuer)
        .public_key(key.public_key())
        .serial_number(7)
        .not_valid_before(START)
        .not_valid_after(START + 80 * DAY)
    )
    if named:
        names = [x509.DNSName(name) for name in named]
        builder = builder.add_extension(x509.SubjectAlternativeName(names), critical=False)
    return bytes(builder.sign(signer, hashes.SHA256()).public_bytes(serialization.Encoding.PEM))


def foreign_content(case: str) -> Entries:
    """Entries that can be read, and into which somebody has put things of another kind than ours."""
    entries = advance(None, TERMS, START)
    authority = bundle(entries)[0].subject
    key = ec.generate_private_key(ec.SECP256R1())
    rsa_key = rsa.generate_private_key(65537, 2048)
    anonymous = x509.Name([])
    changes: dict[str, Callable[[], Entries]] = {
        "rsa-authority": lambda: {
            AUTHORITY: signed(authority, authority, rsa_key, rsa_key),
            AUTHORITY_KEY: pem_of(rsa_key),
        },
        "plain-authority": lambda: {
            AUTHORITY: signed(authority, authority, key, key),
            AUTHORITY_KEY: pem_of(key),
        },
        "encrypted-key": lambda: {LEAF_KEY: pem_of(key, b"secret")},
        "leaf-without-names": lambda: {
            LEAF: signed(anonymous, authority, key, key),
            LEAF_KEY: pem_of(key),
        },
        "leaf-of-another-authority": lambda: {
            LEAF: signed(anonymous, authority, key, key, *TERMS.names),
            LEAF_KEY: pem_of(key),
        },
        "bundle-without-the-authority": lambda: {BUNDLE: signed(anonymous, anonymous, key, key)},
    }
    return {**entries, **changes[case]()}


@pytest.mark.parametrize(
    "case",
    [
        "rsa-authority",
        "plain-authority",
        "encrypted-key",
        "leaf-without-names",
        "leaf-of-another-authority",
        "bundle-without-the-authority",
    ],
)
@pytest.mark.parametrize("days", [0, 25, 61, 70])
def test_foreign_content_is_replaced(case: str, days: int) -> None:
    """What is not as we would have made it is made anew, whenever that is noticed; the leaf is trusted by the bundle."""
    now = START + days * DAY
    entries = advance(foreign_content(case), TERMS, now)
    assert trusts(bundle(entries), entries, now)
    assert advance(entries, TERMS, now) is entries


@pytest.mark.parametrize("behind", [timedelta(minutes=4), timedelta(hours=1), 40 * DAY])
def test_clock_that_goes_back(behind: timedelta) -> None:
    """What was made by a clock that was ahead is made anew if it is not valid yet, and all is left alone otherwise."""
    entries = advance(None, TERMS, START)
    made = advance(entries, TERMS, START - behind)
    assert trusts(bundle(made), made, START - behind)
    assert (made is entries) == (behind < timedelta(minutes=5))
    renewed = advance(entries, TERMS, START + 25 * DAY)
    back = advance(renewed, TERMS, START + 25 * DAY - timedelta(hours=1))
    assert back[AUTHORITY] == entries[AUTHORITY]
    assert trusts(bundle(back), back, START + 25 * DAY - timedelta(hours=1))


def test_successor_waits_until_it_is_trusted() -> None:
    """After the trust lead a successor signs as soon as clients are known to trust it, or when there is nothing else."""
    entries = advance(None, TERMS, START)
    entries = advance(entries, TERMS, START + 61 * DAY)
    successor = entries[SUCCESSOR]
    asked: list[bytes] = []

    def not_yet(pem: bytes) -> bool:
        asked.append(pem)
        return False

    for days in (62, 64, 80):
        entries = advance(entries, TERMS, START + days * DAY, not_yet)
        assert entries[SUCCESSOR] == successor
        assert trusts(bundle(entries)[:1], entries, START + days * DAY)
    assert set(asked) == {successor}
    assert advance(entries, TERMS, START + 80 * DAY)[AUTHORITY] == successor
    entries = advance(entries, TERMS, START + 90 * DAY, not_yet)
    assert entries[AUTHORITY] == successor
    assert trusts(bundle(entries), entries, START + 90 * DAY)


def test_directory_is_adopted(tmp_path: Path) -> None:
    """Who comes second serves with what the first has made; files are for their owner only."""
    store = DirectoryStore(tmp_path / "certificates")
    first = maintain(store, TERMS, START)
    assert maintain(DirectoryStore(tmp_path / "certificates"), TERMS, START) == first
    files = list((tmp_path / "certificates" / "current").iterdir())
    assert {file.stat().st_mode & 0o777 for file in files} == {0o600}


def test_race_has_one_winner(tmp_path: Path) -> None:
    """Entries that were made from an old revision are not written."""
    one, other = DirectoryStore(tmp_path), DirectoryStore(tmp_path)
    _, seen = one.load()
    first = maintain(other, TERMS, START)
    with pytest.raises(WriteConflict):
        one.save(advance(None, TERMS, START), seen)
    assert maintain(one, TERMS, START) == first


def test_old_directories_go(tmp_path: Path) -> None:
    """Only the current set and the one before are kept."""
    store = DirectoryStore(tmp_path)
    for days in range(0, 200, 10):
        maintain(store, TERMS, START + days * DAY)
    assert len(list(tmp_path.glob("certificates-*"))) == 2


def test_openssl_takes_them(tmp_path: Path) -> None:
    """The leaf and its key are what a TLS server needs."""
    maintain(DirectoryStore(tmp_path), TERMS, datetime.now(UTC))
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    context.load_cert_chain(tmp_path / "current" / LEAF, tmp_path / "current" / LEAF_KEY)
