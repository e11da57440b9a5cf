# SPDX-License-Identifier: MIT
"""A headless Chromium for tests of the page, driven by Debian's chromium-driver and python3-selenium."""

import os

from selenium import webdriver
from selenium.webdriver.chrome.service import Service


def open_browser(width: int = 1200, height: int = 900, dark: bool = False) -> webdriver.Chrome:
    options = webdriver.ChromeOptions()
    for argument in ("--headless=new", "--disable-gpu", "--hide-scrollbars", "--force-device-scale-factor=1"):
        options.add_argument(argument)
    if os.getuid() == 0:  # root has no sandbox to give
        options.add_argument("--no-sandbox")
        options.add_argument("--disable-dev-shm-usage")
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    browser = webdriver.Chrome(service=Service("/usr/bin/chromedriver"), options=options)
    browser.set_script_timeout(120)
    browser.execute_cdp_cmd(
        "Emulation.setDeviceMetricsOverride",
        {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": False},
    )
    if dark:
        features = [{"name": "prefers-color-scheme", "value": "dark"}]
        browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": features})
    return browser
