# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Ledger identity: signing keys, signed anchors of the last entry, and keyed file fingerprints.

A hash chain detects changed entries, but not the removal of the last entries: an older copy of the ledger is a valid
chain too. An anchor detects this rollback, because the ledger has signed an entry that the older copy does not contain.
"""

import hashlib
import hmac
import json
import re
from collections.abc import Mapping
from dataclasses import asdict, astuple, dataclass, fields, replace
from typing import Any, final

from dperm.errors import LedgerError, ParameterError
from dperm.ledger.entry import Entry

RECEIPT_SIGNATURE = "receipt_signature"
"""Key of a receipt's signature; it covers all other keys."""
_KEY = re.compile("[0-9a-f]{64}")


@dataclass(frozen=True)
class Identity:
    """Keys of a ledger, and its id derived from the public key. Only writers may read them."""

    public_key: str
    signing_key: str
    fingerprint_key: str

    def __post_init__(self) -> None:
        """Raise LedgerError for damaged keys."""
        if not all(isinstance(key, str) and _KEY.fullmatch(key) for key in astuple(self)):
            raise LedgerError("the keys of the ledger are damaged.", remedy="Restore an intact copy, and verify it.")

    @property
    def id(self) -> str:
        """Id of the ledger, unique to its key pair."""
        return id_of(self.public_key)

    @classmethod
    def generate(cls) -> "Identity":
        """Return new keys from the operating system's randomness."""
        from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

        return cls._of(Ed25519PrivateKey.generate().private_bytes_raw().hex())

    @property
    def is_whole(self) -> bool:
        """Whether all keys follow from the signing key."""
        try:
            return self == self._of(self.signing_key)
        except ValueError:
            return False

    @classmethod
    def _of(cls, signing_key: str) -> "Identity":
        from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

        key = Ed25519PrivateKey.from_private_bytes(bytes.fromhex(signing_key))
        fingerprint_key = hmac.new(key.private_bytes_raw(), b"dperm fingerprints", "sha256").hexdigest()
        return cls(key.public_key().public_bytes_raw().hex(), signing_key, fingerprint_key)

    def anchor(self, entry: Entry) -> "Anchor":
        """Return a signed anchor of ``entry``."""
        plain = Anchor(self.id, entry.account, seq=entry.seq, hash=entry.hash, public_key=self.public_key, signature="")
        return replace(plain, signature=self._sign(plain.message))

    def sign_receipt(self, receipt: Mapping[str, object]) -> dict[str, object]:
        """Return a receipt with a signature over all its fields (`receipt_is_signed`)."""
        return {**receipt, RECEIPT_SIGNATURE: self._sign(_message(receipt))}

    def _sign(self, message: bytes) -> str:
        from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

        return Ed25519PrivateKey.from_private_bytes(bytes.fromhex(self.signing_key)).sign(message).hex()


@dataclass(frozen=True)
class Anchor:
    """Statement, signed by a ledger, that one of its accounts contained an entry with this number and hash.

    Attributes
    ----------
    ledger
        Id of the ledger, a hash of its public key.
    account, seq, hash
        Name of the account, and number and SHA-256 hash of the entry.
    public_key, signature
        Ed25519 public key and signature, in hexadecimal.
    """

    ledger: str
    account: str
    seq: int
    hash: str
    public_key: str
    signature: str

    @property
    def message(self) -> bytes:
        """Signed content of the anchor, as bytes."""
        return json.dumps(["dperm anchor", self.ledger, self.account, self.seq, self.hash]).encode()

    @property
    def is_signed(self) -> bool:
        """Whether the signature is valid, and ``public_key`` is the key of the ledger with the id ``ledger``."""
        return _is_signed(self.message, self.public_key, self.signature) and id_of(self.public_key) == self.ledger

    def to_json(self) -> str:
        """Return the anchor as one line of JSON."""
        return json.dumps(asdict(self), sort_keys=True)

    @classmethod
    def from_json(cls, text: str) -> "Anchor":
        """Return the anchor stored as JSON.

        Parameters
        ----------
        text
            JSON written by ``to_json``.

        Returns
        -------
        Anchor
            The anchor.

        Raises
        ------
        LedgerError
            If the text is not an anchor.
        """
        try:
            data = json.loads(text)
        except ValueError:
            raise LedgerError("an anchor must be a JSON object, and this text is not JSON.") from None
        return cls.from_receipt(data)

    @classmethod
    def from_receipt(cls, receipt: Mapping[str, Any]) -> "Anchor":
        """Return the anchor in the receipt of a release.

        Parameters
        ----------
        receipt
            Receipt of the release (``Record.ledger``), or a mapping with the same keys.

        Returns
        -------
        Anchor
            The anchor.

        Raises
        ------
        LedgerError
            If the receipt contains no anchor, because the release was not charged to a ledger.
        ParameterError
            If ``receipt`` is not a mapping.
        """
        if not isinstance(receipt, Mapping):
            raise ParameterError(argument="receipt", rule="must be a mapping, such as release.record.ledger")
        kinds: dict[str, type] = {item.name: int if item.name == "seq" else str for item in fields(cls)}
        if not all(type(receipt.get(name)) is kind for name, kind in kinds.items()):
            raise LedgerError("the receipt contains no anchor: the release was not charged to a ledger.")
        return cls(**{name: receipt[name] for name in kinds})


def receipt_is_signed(receipt: Mapping[str, Any]) -> bool:
    """Return whether a receipt has a valid signature of its ledger that covers all fields of the receipt.

    A receipt contains an anchor, whose own signature covers only one entry of the ledger. The signature of the receipt
    also covers the limit, the unit, the totals, the digest and all other fields.

    Parameters
    ----------
    receipt
        Receipt of a release (``Record.ledger``).

    Returns
    -------
    bool
        True if the signatures of the receipt and of its anchor are valid.

    Raises
    ------
    LedgerError
        If the receipt contains no anchor.
    """
    anchor = Anchor.from_receipt(receipt)
    signed = {name: value for name, value in receipt.items() if name != RECEIPT_SIGNATURE}
    signature = receipt.get(RECEIPT_SIGNATURE)
    if not isinstance(signature, str) or not anchor.is_signed:
        return False
    try:
        return _is_signed(_message(signed), anchor.public_key, signature)
    except (RecursionError, TypeError, ValueError):  # invalid JSON was never signed
        return False


def _message(receipt: Mapping[str, object]) -> bytes:
    """Return the signed content of a receipt, independent of the order of its keys."""
    text = json.dumps(["dperm receipt", dict(receipt)], sort_keys=True, separators=(",", ":"), default=dict)
    return text.encode()


def _is_signed(message: bytes, public_key: str, signature: str) -> bool:
    from cryptography.exceptions import InvalidSignature
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

    try:
        Ed25519PublicKey.from_public_bytes(bytes.fromhex(public_key)).verify(bytes.fromhex(signature), message)
    except (ValueError, InvalidSignature):
        return False
    return True


def id_of(public_key: str) -> str:
    """Return the id of the ledger with this public key."""
    return hashlib.sha256(bytes.fromhex(public_key)).hexdigest()[:32]


@final
class Fingerprint:
    """HMAC-SHA256 of content given block by block.

    With the key of the ledger it identifies a file; without the key it reveals nothing.
    """

    def __init__(self, key: str) -> None:
        self._code = hmac.new(bytes.fromhex(key), digestmod="sha256")

    def update(self, block: bytes) -> None:
        """Add the next block of content."""
        self._code.update(block)

    @property
    def text(self) -> str:
        """Fingerprint of all blocks so far, in the format of the ledger."""
        return f"hmac-sha256:{self._code.hexdigest()}"
