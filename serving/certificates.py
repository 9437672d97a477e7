"""A certificate authority of the service's own, the leaf certificate that it serves with, and one for its only client.

Certificates are kept as ``Entries``, PEM by name, in any store (:mod:`serving.certificate_store`).  :func:`advance` returns
the entries that are due at a time, so that calling it regularly does all renewal and rotation:

* A leaf is replaced after two thirds of its life, and never outlives its authority.
* An authority gets a successor after two thirds of its life.  The successor is trusted at once, but signs nothing before
  the *trust lead* has passed, in which clients learn of it.  The old one stays trusted until it ends.
* The certificate of the client lasts as long as its authority: clients may read it only when they start.
* All are valid from five minutes ago, for clients whose clocks are late.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from ipaddress import ip_address
from typing import NamedTuple

from cryptography import x509
from cryptography.exceptions import InvalidSignature, UnsupportedAlgorithm
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

BACKDATED = timedelta(minutes=5)
# The names of kubernetes.io/tls Secrets, and others beside them. `BUNDLE` is what clients are to trust.
BUNDLE, LEAF, LEAF_KEY = "ca.crt", "tls.crt", "tls.key"
AUTHORITY, AUTHORITY_KEY = "authority.crt", "authority.key"
SUCCESSOR, SUCCESSOR_KEY = "successor.crt", "successor.key"
CLIENT, CLIENT_KEY = "client.crt", "client.key"
NAMES = (BUNDLE, LEAF, LEAF_KEY, AUTHORITY, AUTHORITY_KEY, SUCCESSOR, SUCCESSOR_KEY, CLIENT, CLIENT_KEY)

# Errors for content that is damaged, or of another kind than is made here.
_UNREADABLE = (
    KeyError,
    TypeError,
    ValueError,
    UnsupportedAlgorithm,
    x509.DuplicateExtension,
    x509.ExtensionNotFound,
    x509.InvalidVersion,
    x509.UnsupportedGeneralNameType,
)

Entries = dict[str, bytes]
IsTrusted = Callable[[bytes], bool]


class Terms(NamedTuple):
    """Whom the leaf is for (DNS names and IP addresses), and how long everything lasts.

    The trust lead should be well below a third of the authority's life: what is left of it after the renewal has begun.
    ``client_name``: the common name of a client that gets a certificate, too; empty for none.
    ``service``: of what kind it is; subjects say so.
    """

    names: tuple[str, ...]
    authority_life: timedelta
    leaf_life: timedelta
    trust_lead: timedelta
    client_name: str = ""
    service: str = "webhook"


def advance(
    entries: Entries | None, terms: Terms, now: datetime, is_trusted: IsTrusted = lambda pem: True
) -> Entries:
    """The entries that are due at a time; the same object if nothing changes.

    Entries that cannot be read, or were not made here, are treated like none: a new authority is made.

    :param is_trusted: whether clients trust an authority (PEM), as far as that can be told; called for a successor after
        the trust lead.  One that is not trusted takes over only when the old one ends.
    """
    try:
        current = _Chain(entries) if entries is not None else None
    except _UNREADABLE:
        current = None
    if entries is None or current is None:
        authority = _authority(terms, now)
        return _issued({}, authority, [], terms, now) | _client_entries(authority, terms, now)
    takes_over = current.successor_takes_over(terms, now, is_trusted)
    if not takes_over and not current.is_due(terms, now):
        return entries
    return current.advanced(terms, now, takes_over=takes_over)


def is_usable(entries: Entries | None) -> bool:
    """Whether entries are complete: everything can be read, and keys belong to their certificates."""
    try:
        return entries is not None and bool(_Chain(entries).bundle)
    except _UNREADABLE:
        return False


class _Signed(NamedTuple):
    """A certificate with its key, both PEM, and the certificate as read."""

    pem: bytes
    key: bytes
    certificate: x509.Certificate


class _Chain:
    """The certificates in entries; raises one of ``_UNREADABLE`` if they are damaged."""

    def __init__(self, entries: Entries) -> None:
        self.entries = entries
        self.authority = _read_authority(entries[AUTHORITY], entries[AUTHORITY_KEY])
        self.leaf = _read(entries[LEAF], entries[LEAF_KEY])
        self.leaf_names = _names(self.leaf.certificate)
        self.successor: _Signed | None = None
        if SUCCESSOR in entries:
            self.successor = _read_authority(entries[SUCCESSOR], entries[SUCCESSOR_KEY])
        self.client = _read_if_usable(entries, CLIENT, CLIENT_KEY)
        self.bundle = x509.load_pem_x509_certificates(entries[BUNDLE])

    def is_due(self, terms: Terms, now: datetime) -> bool:
        """Whether something other than the successor's takeover is due."""
        return (
            self._authority_due(now)
            or self._leaf_due(terms, now)
            or self._client_due(terms, now)
            or any(now >= known.not_valid_after_utc for known in self.bundle)
            or any(
                signed.certificate not in self.bundle for signed in (self.authority, self.successor) if signed
            )
        )

    def _authority_due(self, now: datetime) -> bool:
        authority = self.authority.certificate
        return not _is_valid(authority, now) or (self.successor is None and now >= _renewal(authority))

    def successor_takes_over(self, terms: Terms, now: datetime, is_trusted: IsTrusted) -> bool:
        """Whether there is a successor that may sign: clients trust it, or the old authority has ended."""
        if self.successor is None:
            return False
        if not _is_valid(self.authority.certificate, now):
            return True
        made = self.successor.certificate.not_valid_before_utc + BACKDATED
        return now >= made + terms.trust_lead and is_trusted(self.successor.pem)

    def _leaf_due(self, terms: Terms, now: datetime) -> bool:
        leaf = self.leaf.certificate
        return (
            now >= _renewal(leaf)
            or not _is_valid(leaf, now)
            or not _is_issued_by(leaf, self.authority.certificate)
            or self.leaf_names != {_general_name(name) for name in terms.names}
        )

    def _client_due(self, terms: Terms, now: datetime) -> bool:
        if not terms.client_name:
            return False
        return (
            self.client is None
            or not _is_valid(self.client.certificate, now)
            or not _is_issued_by(self.client.certificate, self.authority.certificate)
            or self.client.certificate.subject != _name(terms.client_name)
        )

    def advanced(self, terms: Terms, now: datetime, *, takes_over: bool) -> Entries:
        """The entries after everything that is due."""
        authority, successor = self.authority, self.successor
        if takes_over and successor is not None:
            authority, successor = successor, None
        if not _is_valid(authority.certificate, now):
            authority, successor = _authority(terms, now), None
        if successor is None and now >= _renewal(authority.certificate):
            successor = _authority(terms, now)
        entries = dict(self.entries)
        for name in (SUCCESSOR, SUCCESSOR_KEY):
            entries.pop(name, None)
        if successor is not None:
            entries |= {SUCCESSOR: successor.pem, SUCCESSOR_KEY: successor.key}
        is_same = authority is self.authority
        if not is_same or self._client_due(terms, now):
            entries |= _client_entries(authority, terms, now)
        if is_same and not self._leaf_due(terms, now):
            entries[BUNDLE] = _bundle([authority, successor], self.bundle, now)
            return entries
        trusted = [successor] if successor is not None else []
        return _issued(entries, authority, trusted, terms, now, known=self.bundle)


def _issued(
    entries: Entries,
    authority: _Signed,
    trusted: list[_Signed],
    terms: Terms,
    now: datetime,
    known: list[x509.Certificate] | None = None,
) -> Entries:
    """The entries with an authority and a new leaf of it; ``known`` are certificates trusted until now."""
    leaf = _leaf(authority, terms, now)
    return {
        **entries,
        AUTHORITY: authority.pem,
        AUTHORITY_KEY: authority.key,
        LEAF: leaf.pem,
        LEAF_KEY: leaf.key,
        BUNDLE: _bundle([authority, *trusted], known or [], now),
    }


def _client_entries(authority: _Signed, terms: Terms, now: datetime) -> Entries:
    """A new certificate for the client, if there is one."""
    if not terms.client_name:
        return {}
    usage, subject = ExtendedKeyUsageOID.CLIENT_AUTH, _name(terms.client_name)
    made = _end_entity(authority, subject, usage, [], now, authority.certificate.not_valid_after_utc)
    return {CLIENT: made.pem, CLIENT_KEY: made.key}


def _bundle(
    signing: list[_Signed | None] | list[_Signed], known: list[x509.Certificate], now: datetime
) -> bytes:
    """The certificates to trust: the authorities, then those trusted before until they end."""
    certificates = [signed.certificate for signed in signing if signed is not None]
    certificates += [old for old in known if old not in certificates and now < old.not_valid_after_utc]
    return b"".join(map(_pem, certificates))


def _authority(terms: Terms, now: datetime) -> _Signed:
    """A new authority with a unique name."""
    key = ec.generate_private_key(ec.SECP256R1())
    serial = x509.random_serial_number()
    name = _name(f"Claimcheck {terms.service} authority {serial:x}"[:64])
    builder = (
        _builder(name, name, key, now, now + terms.authority_life)
        .serial_number(serial)
        .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
        .add_extension(_usage(signs_certificates=True), critical=True)
    )
    certificate = builder.sign(key, hashes.SHA256())
    return _Signed(_pem(certificate), _key_pem(key), certificate)


def _leaf(authority: _Signed, terms: Terms, now: datetime) -> _Signed:
    """A new leaf certificate, which ends with its authority at the latest."""
    end = min(now + terms.leaf_life, authority.certificate.not_valid_after_utc)
    names = list(map(_general_name, terms.names))
    subject = _name(f"Claimcheck {terms.service}")
    return _end_entity(authority, subject, ExtendedKeyUsageOID.SERVER_AUTH, names, now, end)


def _end_entity(
    authority: _Signed,
    subject: x509.Name,
    usage: x509.ObjectIdentifier,
    names: list[x509.GeneralName],
    now: datetime,
    end: datetime,
) -> _Signed:
    """A new certificate that signs no others."""
    issuer = authority.certificate
    signer = serialization.load_pem_private_key(authority.key, None)
    assert isinstance(signer, ec.EllipticCurvePrivateKey)
    key = ec.generate_private_key(ec.SECP256R1())
    identifier = issuer.extensions.get_extension_for_class(x509.SubjectKeyIdentifier).value
    builder = (
        _builder(subject, issuer.subject, key, now, end)
        .serial_number(x509.random_serial_number())
        .add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
        .add_extension(_usage(signs_certificates=False), critical=True)
        .add_extension(x509.ExtendedKeyUsage([usage]), critical=False)
        .add_extension(
            x509.AuthorityKeyIdentifier.from_issuer_subject_key_identifier(identifier), critical=False
        )
    )
    if names:
        builder = builder.add_extension(x509.SubjectAlternativeName(names), critical=False)
    certificate = builder.sign(signer, hashes.SHA256())
    return _Signed(_pem(certificate), _key_pem(key), certificate)


def _builder(
    subject: x509.Name, issuer: x509.Name, key: ec.EllipticCurvePrivateKey, now: datetime, end: datetime
) -> x509.CertificateBuilder:
    return (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(issuer)
        .public_key(key.public_key())
        .not_valid_before(now.astimezone(UTC) - BACKDATED)
        .not_valid_after(end.astimezone(UTC))
        .add_extension(x509.SubjectKeyIdentifier.from_public_key(key.public_key()), critical=False)
    )


def _usage(*, signs_certificates: bool) -> x509.KeyUsage:
    return x509.KeyUsage(
        digital_signature=not signs_certificates,
        key_cert_sign=signs_certificates,
        crl_sign=signs_certificates,
        content_commitment=False,
        key_encipherment=False,
        data_encipherment=False,
        key_agreement=False,
        encipher_only=False,
        decipher_only=False,
    )


def _renewal(certificate: x509.Certificate) -> datetime:
    """The time at which two thirds of its life are over."""
    start, end = certificate.not_valid_before_utc + BACKDATED, certificate.not_valid_after_utc
    return start + (end - start) * 2 / 3


def _is_valid(certificate: x509.Certificate, now: datetime) -> bool:
    """Whether it is valid now; one that is not valid yet was made by a clock that was ahead."""
    return certificate.not_valid_before_utc <= now < certificate.not_valid_after_utc


def _is_issued_by(certificate: x509.Certificate, authority: x509.Certificate) -> bool:
    try:
        certificate.verify_directly_issued_by(authority)
    except (ValueError, TypeError, InvalidSignature):
        return False
    return True


def _names(certificate: x509.Certificate) -> set[x509.GeneralName]:
    return set(certificate.extensions.get_extension_for_class(x509.SubjectAlternativeName).value)


def _general_name(name: str) -> x509.GeneralName:
    try:
        return x509.IPAddress(ip_address(name))
    except ValueError:
        return x509.DNSName(name)


def _name(common_name: str) -> x509.Name:
    return x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, common_name)])


def _read(pem: bytes, key: bytes) -> _Signed:
    """A certificate and its key; ValueError if they do not belong together."""
    certificate = x509.load_pem_x509_certificate(pem)
    if serialization.load_pem_private_key(key, None).public_key() != certificate.public_key():
        raise ValueError("the key is not that of the certificate")
    return _Signed(pem, key, certificate)


def _read_if_usable(entries: Entries, name: str, key: str) -> _Signed | None:
    """A certificate that can be made anew without others noticing; None if it is missing or damaged."""
    try:
        return _read(entries[name], entries[key])
    except _UNREADABLE:
        return None


def _read_authority(pem: bytes, key: bytes) -> _Signed:
    """A certificate and its key that can sign like those made here."""
    signed = _read(pem, key)
    if not isinstance(signed.certificate.public_key(), ec.EllipticCurvePublicKey):
        raise TypeError("the authority's key is of another kind")
    extensions = signed.certificate.extensions
    if not extensions.get_extension_for_class(x509.BasicConstraints).value.ca:
        raise ValueError("the authority may not sign certificates")
    extensions.get_extension_for_class(x509.SubjectKeyIdentifier)
    return signed


def _pem(certificate: x509.Certificate) -> bytes:
    return certificate.public_bytes(serialization.Encoding.PEM)


def _key_pem(key: ec.EllipticCurvePrivateKey) -> bytes:
    return key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )
