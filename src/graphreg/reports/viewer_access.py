"""Who may use the live viewer: a browser that has its token, at an address of this machine, from the page itself."""

from __future__ import annotations

import hashlib
import hmac
import ipaddress
import secrets
import socket
from collections.abc import Iterable
from dataclasses import dataclass, field
from http.cookies import CookieError, SimpleCookie
from urllib.parse import parse_qs, urlsplit

# A page of another site must neither frame the viewer nor learn its address; what it serves is not stored.
HEADERS = {
    "Content-Security-Policy": "frame-ancestors 'none'",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
    "Cache-Control": "no-store",
}


@dataclass(frozen=True)
class ViewerAccess:
    """The rules by which requests are answered, those of websockets as well.

    The host must be an address or a name of this machine: the name of an attacker's site can point to it (DNS
    rebinding). A request that a page makes must come from the viewer's own page. The token is in the address that the
    command prints, and then in a cookie.

    Attributes
    ----------
    host : str
        Name or address that the server listens at.
    token : str
        By default 32 random bytes as text.
    """

    host: str
    token: str = field(default_factory=lambda: secrets.token_urlsafe(32), repr=False)

    def query(self) -> str:
        """The part of the address that carries the token."""
        return f"?token={self.token}"

    def refusal(self, path: str, headers: Iterable[tuple[str, str]]) -> str | None:
        """Why a request is not answered; None where it is."""
        values = _by_name(headers)
        hosts, origins = values.get("host", []), values.get("origin", [])
        if len(hosts) != 1 or not self._is_ours(hosts[0]):
            return "the viewer is not at this address"
        if origins and origins not in ([f"http://{hosts[0]}"], [f"https://{hosts[0]}"]):
            return "a page of another site cannot use the viewer"
        if not (self.has_token(path) or self._has_cookie(values.get("cookie", []))):
            return "open the address that graphreg view has printed: it ends in a token"
        return None

    def has_token(self, path: str) -> bool:
        """Whether the address of a request has the token."""
        return any(self._is_token(value) for value in parse_qs(urlsplit(path).query).get("token", []))

    def cookie(self) -> str:
        """The header that stores the token in the browser."""
        return f"{self._cookie_name()}={self.token}; Path=/; HttpOnly; SameSite=Lax"

    def _cookie_name(self) -> str:
        # Servers on several ports of a machine share their cookies, so each has a name of its own.
        return f"graphreg-{hashlib.sha256(self.token.encode()).hexdigest()[:8]}"

    def _has_cookie(self, lines: list[str]) -> bool:
        for line in lines:
            try:
                stored = SimpleCookie(line).get(self._cookie_name())
            except CookieError:
                continue
            if stored is not None and self._is_token(stored.value):
                return True
        return False

    def _is_token(self, value: str) -> bool:
        return hmac.compare_digest(value.encode("utf-8", "replace"), self.token.encode())

    def _is_ours(self, header: str) -> bool:
        """Whether a Host header has an IP address, which needs no DNS, or a name of this machine."""
        try:
            name = urlsplit(f"//{header}").hostname or ""
        except ValueError:
            return False
        try:
            ipaddress.ip_address(name)
            return True
        except ValueError:
            machine = socket.gethostname().lower()
            return name in ("localhost", self.host.lower(), machine, f"{machine}.local", socket.getfqdn().lower())


def _by_name(headers: Iterable[tuple[str, str]]) -> dict[str, list[str]]:
    values: dict[str, list[str]] = {}
    for name, value in headers:
        values.setdefault(name.lower(), []).append(value)
    return values
