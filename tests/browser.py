"""A real browser for the tests: Debian's Chromium, headless, driven by Playwright; CI must have it."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from engines import has_module, need

# As root Chromium wants no sandbox; the rest keeps it from calling home.
SWITCHES = ["--no-sandbox", "--disable-gpu", "--disable-background-networking", "--disable-component-update"]


@contextmanager
def chromium() -> Iterator:
    """A browser."""
    program = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    need(program, "no Chromium (Debian: apt-get install chromium)")
    need(has_module("playwright"), "no Playwright (pip install playwright)")
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=program, args=SWITCHES)
        yield browser
        browser.close()


class Opened:
    """A page of ours in a tab, and what it said and asked for."""

    def __init__(self, browser, path: Path, width: int = 1_400, scheme: str = "light", scripts: bool = True) -> None:
        context = browser.new_context(
            viewport={"width": width, "height": 900}, color_scheme=scheme, java_script_enabled=scripts
        )
        self.tab = context.new_page()
        self.said: list[str] = []
        self.asked: list[str] = []
        self.tab.on("console", lambda message: self.said.append(f"{message.type}: {message.text}"))
        self.tab.on("pageerror", lambda error: self.said.append(str(error)))
        self.tab.on("request", lambda request: self.asked.append(request.url))
        self.address = path.absolute().as_uri()
        self.tab.goto(self.address)

    def count(self, selector: str) -> int:
        return self.tab.locator(selector).count()

    def shown(self, selector: str) -> int:
        """How many of them can be seen."""
        return sum(found.is_visible() for found in self.tab.locator(selector).all())


def boxes(found) -> list[dict[str, float]]:
    """Where all that a locator finds is drawn, asked for at once: one by one it takes seconds."""
    return found.evaluate_all("all => all.map(one => one.getBoundingClientRect().toJSON())")
