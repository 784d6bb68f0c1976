# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Anchors: a signed word of the ledger about its last line, carried by every artefact.

A chain of hashes shows that a line was changed, but not that the last lines are gone: an older copy of the file is a
valid chain too. Whoever holds an anchor can tell, since the ledger signed that it had been further.
"""

import hashlib
import hmac
import json
import re
from collections.abc import Mapping
from dataclasses import asdict, astuple, dataclass, fields, replace
from typing import Any

from dperm.errors import LedgerError, ParameterError
from dperm.ledger.entry import Entry

RECEIPT_SIGNATURE = "receipt_signature"
"""The key of a receipt under which stands the signature of all others."""
_KEY = re.compile("[0-9a-f]{64}")


@dataclass(frozen=True)
class Identity:
    """Who a ledger is: its keys, and the id that follows from the public one. The keys of writers, not for others."""

    public_key: str
    signing_key: str
    fingerprint_key: str

    def __post_init__(self) -> None:
        """Refuse what cannot be a key, since it was damaged where it is kept."""
        if not all(isinstance(key, str) and _KEY.fullmatch(key) for key in astuple(self)):
            raise LedgerError("the keys of the ledger are damaged. Put a whole copy back, and verify it.")

    @property
    def id(self) -> str:
        """The id of the ledger: no other key pair gives it."""
        return id_of(self.public_key)

    @classmethod
    def fresh(cls) -> "Identity":
        """New keys from the operating system."""
        from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

        return cls._of(Ed25519PrivateKey.generate().private_bytes_raw().hex())

    @property
    def is_whole(self) -> bool:
        """Whether the keys belong together: all follow from the one that signs."""
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
        """The signed word that ``entry`` is in the books."""
        plain = Anchor(self.id, entry.account, entry.seq, entry.hash, self.public_key, "")
        return replace(plain, signature=self._sign(plain.message))

    def signed(self, receipt: Mapping[str, object]) -> dict[str, object]:
        """A receipt with a signature of all that it says (`receipt_is_signed`)."""
        return {**receipt, RECEIPT_SIGNATURE: self._sign(_message(receipt))}

    def _sign(self, message: bytes) -> str:
        from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

        return Ed25519PrivateKey.from_private_bytes(bytes.fromhex(self.signing_key)).sign(message).hex()


@dataclass(frozen=True)
class Anchor:
    """That the ledger had, in this account, a line of this number with this hash.

    Attributes
    ----------
    ledger
        The id of the ledger, a hash of its public key.
    account, seq, hash
        The line.
    public_key, signature
        Ed25519, in hexadecimal.
    """

    ledger: str
    account: str
    seq: int
    hash: str
    public_key: str
    signature: str

    @property
    def message(self) -> bytes:
        """What is signed."""
        return json.dumps(["dperm anchor", self.ledger, self.account, self.seq, self.hash]).encode()

    @property
    def is_signed(self) -> bool:
        """Whether the signature is that of the ledger with this id."""
        return _is_signed(self.message, self.public_key, self.signature) and id_of(self.public_key) == self.ledger

    def to_json(self) -> str:
        """One line of JSON."""
        return json.dumps(asdict(self), sort_keys=True)

    @classmethod
    def from_json(cls, text: str) -> "Anchor":
        """What ``to_json`` wrote.

        Raises
        ------
        LedgerError
            If it is something else.
        """
        try:
            data = json.loads(text)
        except ValueError:
            raise LedgerError("an anchor is a JSON object, and this is not JSON.") from None
        return cls.from_receipt(data)

    @classmethod
    def from_receipt(cls, receipt: Mapping[str, Any]) -> "Anchor":
        """The anchor in the receipt of a release (``Record.ledger``), or in a mapping with the same names.

        Raises
        ------
        LedgerError
            If there is none: the release was charged to no ledger, or to a budget in memory.
        """
        if not isinstance(receipt, Mapping):
            raise ParameterError("receipt must be a mapping, such as release.record.ledger.")
        kinds: dict[str, type] = {item.name: int if item.name == "seq" else str for item in fields(cls)}
        if not all(type(receipt.get(name)) is kind for name, kind in kinds.items()):
            raise LedgerError("there is no anchor in it: what it is about was not charged to a ledger that signs.")
        return cls(**{name: receipt[name] for name in kinds})


def receipt_is_signed(receipt: Mapping[str, Any]) -> bool:
    """Whether every word of a receipt (``Record.ledger``) is as the ledger that it names has signed it.

    The anchor in it is about a line of the books; this is about the limit, the unit, the sums, the digest, and all
    else that the receipt says.

    Raises
    ------
    LedgerError
        If there is no anchor in it.
    """
    anchor = Anchor.from_receipt(receipt)
    said = {name: value for name, value in receipt.items() if name != RECEIPT_SIGNATURE}
    signature = receipt.get(RECEIPT_SIGNATURE)
    if not isinstance(signature, str) or not anchor.is_signed:
        return False
    try:
        return _is_signed(_message(said), anchor.public_key, signature)
    except (RecursionError, TypeError, ValueError):  # what is no JSON was never signed
        return False


def _message(receipt: Mapping[str, object]) -> bytes:
    """What is signed of a receipt, however its keys are ordered."""
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
    """The id of the ledger that signs with this key."""
    return hashlib.sha256(bytes.fromhex(public_key)).hexdigest()[:32]
