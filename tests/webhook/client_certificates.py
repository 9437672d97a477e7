"""Certificates of clients, as an API server would have one."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID


def write_client_certificates(directory: Path, names: list[str]) -> None:
    """`authority.crt`, and for each name a file `NAME.pem` with a certificate and its key."""
    key = ec.generate_private_key(ec.SECP256R1())
    issuer = _name("clients")
    authority = _builder(issuer, issuer, key).add_extension(x509.BasicConstraints(True, None), critical=True)
    signed = authority.sign(key, hashes.SHA256())
    (directory / "authority.crt").write_bytes(signed.public_bytes(serialization.Encoding.PEM))
    for name in names:
        own = ec.generate_private_key(ec.SECP256R1())
        usage = x509.ExtendedKeyUsage([ExtendedKeyUsageOID.CLIENT_AUTH])
        leaf = (
            _builder(_name(name), issuer, own).add_extension(usage, critical=False).sign(key, hashes.SHA256())
        )
        pem = own.private_bytes(
            serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
        )
        (directory / f"{name}.pem").write_bytes(leaf.public_bytes(serialization.Encoding.PEM) + pem)


def _builder(
    subject: x509.Name, issuer: x509.Name, key: ec.EllipticCurvePrivateKey
) -> x509.CertificateBuilder:
    now = datetime.now(UTC)
    return (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(issuer)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - timedelta(minutes=5))
        .not_valid_after(now + timedelta(days=1))
    )


def _name(common_name: str) -> x509.Name:
    return x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, common_name)])
