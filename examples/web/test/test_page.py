# SPDX-License-Identifier: MIT
"""The page in a real browser: test_page.py FOLDER PROGRAM, where FOLDER holds what examples/web/build made."""

import functools
import http.server
import json
import pathlib
import statistics
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor

from browser import open_browser
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys

root = pathlib.Path(__file__).resolve().parents[3]
sys.path.insert(0, str(root / "examples/c_api/test"))
from consumer import documents, program_says  # noqa: E402

folder, program = pathlib.Path(sys.argv[1]).resolve(), sys.argv[2]
page = (folder / "index.html").as_uri()


def wait_for(browser, script: str, what: str, seconds: float = 30):
    end = time.monotonic() + seconds
    while not (found := browser.execute_script(f"return {script}")):
        assert time.monotonic() < end, f"waited {seconds} s for: {what}; the verdict is {verdict(browser)}"
        time.sleep(0.02)
    return found


def verdict(browser) -> str:
    return browser.execute_script("return verdict.dataset.is + ': ' + verdict.innerText")


def wait_verdict(browser, wanted: str):
    wait_for(browser, f"verdict.dataset.is === '{wanted}' && answer.getAttribute('aria-busy') === 'false'", wanted)


def fresh(browser, link: str = ""):
    browser.get("about:blank")
    browser.get(page + link)
    wait_for(browser, "window.verdict?.dataset.is", "a verdict")


def put(browser, name: str, text: str):
    field = browser.find_element(By.ID, name)
    field.send_keys(Keys.CONTROL, "a")
    field.send_keys(Keys.DELETE if text == "" else text)


def loads_and_plans(browser):
    fresh(browser)
    wait_verdict(browser, "does_not_fit")
    wait_for(browser, "layouts.rows.length > 1", "layouts")
    assert "KV cache" in browser.find_element(By.ID, "terms").text
    remedies = browser.find_elements(By.CSS_SELECTOR, "#help li")
    assert remedies and all("fits, " in r.text and "tokens/s" in r.text for r in remedies), "remedies with what they give"
    assert "runtime_versions" in browser.find_element(By.ID, "assumed").text, "what was assumed"
    remedies[0].find_element(By.TAG_NAME, "button").click()
    wait_verdict(browser, "fits")
    fresh(browser)
    put(browser, "gpu", "h100-sxm5-80gb")
    wait_verdict(browser, "fits")
    assert not browser.find_elements(By.CSS_SELECTOR, "#help li"), "no remedies where it fits"
    assert browser.execute_script("return performance.getEntriesByType('resource').length") == 0, "loads nothing"


def refuses_by_name(browser):
    fresh(browser)
    put(browser, "field-batch", "many")
    wait_verdict(browser, "refused")
    assert "batch" in verdict(browser) and "many" in verdict(browser), verdict(browser)
    assert browser.find_element(By.ID, "field-batch").get_attribute("aria-invalid") == "true"
    put(browser, "field-batch", "1")
    wait_verdict(browser, "fits")
    put(browser, "model", "llama-3.1-8c")
    wait_for(browser, "verdict.innerText.includes('llama-3.1-8b')", "the nearest model")
    put(browser, "model", "<b onclick=x>")
    wait_for(browser, "verdict.innerText.includes('<b onclick=x>')", "markup is text")
    put(browser, "model", "qwen3-8b")
    wait_verdict(browser, "fits")
    browser.execute_script("document.getElementById('as-json').open = true")
    put(browser, "document", '{"model": "qwen3-8b",, }')
    wait_for(browser, "verdict.innerText.includes('line 1')", "broken JSON with its line")
    put(browser, "document", '{"model": "qwen3-8b", "cluster": {"gpu": "l40s"}, "context": 4096}')
    wait_verdict(browser, "fits")
    assert browser.find_element(By.ID, "gpu").get_property("value") == "l40s", "the form shows the document"
    fresh(browser, "#%7Bnothing")
    wait_verdict(browser, "refused")


def takes_a_config(browser):
    config = root / "tests/data/configs/tiny-llama/config.json"
    dropped = """
        const transfer = new DataTransfer();
        transfer.items.add(new File([arguments[0]], arguments[1], { type: 'application/json' }));
        document.body.dispatchEvent(new DragEvent('drop', { dataTransfer: transfer, bubbles: true, cancelable: true }));"""
    fresh(browser)
    browser.execute_script(dropped, config.read_text(), "config.json")
    wait_verdict(browser, "fits")
    chip = browser.find_element(By.ID, "config")
    assert chip.is_displayed() and "config.json" in chip.text, chip.text
    chip.find_element(By.TAG_NAME, "button").click()
    wait_for(browser, "!model.hidden && model.value === 'llama-3.1-8b'", "the config.json is forgotten")
    browser.find_element(By.ID, "file").send_keys(str(config))
    wait_for(browser, "model.hidden && verdict.dataset.is === 'fits'", "the chosen config.json is planned")
    browser.execute_script(dropped, "a picture", "cat.png")
    wait_for(browser, "verdict.innerText.includes('cat.png is no JSON')", "what is no config.json")
    browser.execute_script(dropped, '{"model_type": "llama", "vocab_size": 1000, "hidden_size": -1}', "config.json")
    wait_for(browser, "verdict.dataset.is === 'refused' && verdict.innerText.includes('hidden_size')", "a bad config.json")


def link_holds_the_question(browser):
    fresh(browser)
    browser.find_element(By.CSS_SELECTOR, "input[value=finetuning] + span").click()
    put(browser, "gpus", "4")
    put(browser, "field-adapter.rank", "16")
    wait_verdict(browser, "refused")  # a rank without a kind
    browser.find_element(By.ID, "field-adapter.kind").send_keys("lora")
    wait_for(browser, "verdict.dataset.is !== 'refused'", "a plan")
    link, asked = browser.current_url, browser.execute_script("return JSON.stringify(job)")
    told = verdict(browser)
    fresh(browser, link[link.index("#") :])
    wait_for(browser, "verdict.dataset.is", "a verdict")
    assert browser.execute_script("return JSON.stringify(job)") == asked
    assert verdict(browser) == told


def layouts_can_be_used(browser):
    question = {"model": "llama-3.1-70b", "context": 8192, "runtime": "vllm", "cluster": {"gpu": "h100-sxm5-80gb", "gpus": 8}}
    fresh(browser, "#" + json.dumps(question))
    wait_for(browser, "layouts.rows.length > 2 && pictures.childElementCount === 4", "layouts, and four pictures")
    wait_for(browser, "[...pictures.children].every(p => p.complete && p.naturalWidth > 0)", "pictures that are drawn")
    browser.find_elements(By.CSS_SELECTOR, "#layouts button")[-1].click()
    wait_for(browser, "!fixed.hidden && job.layout", "the layout is the user's")
    browser.find_element(By.CSS_SELECTOR, "#fixed button").click()
    wait_for(browser, "fixed.hidden && !job.layout", "the layout is the planner's")


def phases_are_shown(browser):
    question = {"model": "qwen2.5-1.5b", "task": "grpo", "runtime": "verl", "micro_batch": 2, "cluster": {"gpu": "h100-sxm5-80gb", "gpus": 4}}
    fresh(browser, "#" + json.dumps(question))
    wait_for(browser, "speed.innerText.includes('Phase rollout') && speed.innerText.includes('Phase training')", "the phases")
    wait_for(browser, "[...pictures.children].some(p => p.alt.startsWith('Memory in each phase'))", "a picture of the phases")


def works_by_keyboard(browser):
    fresh(browser)
    active = browser.switch_to.active_element
    seen = []
    for _ in range(30):
        active.send_keys(Keys.TAB)
        active = browser.switch_to.active_element
        seen.append(active.get_attribute("id") or active.get_attribute("name") or active.tag_name)
    for name in ("model", "gpus", "gpu", "task", "runtime", "field-context", "field-batch", "link", "reset"):
        assert name in seen, f"{name} is not reached by Tab: {seen}"
    browser.find_element(By.CSS_SELECTOR, "input[value=serving]").send_keys(Keys.ARROW_RIGHT)
    wait_for(browser, "job.task === 'finetuning'", "an arrow chooses the task")
    unnamed = browser.execute_script(
        "return [...document.querySelectorAll('input, select, textarea, button')].filter(e => !e.hidden && e.type !== 'radio'"
        " && !e.labels?.length && !e.ariaLabel && !e.textContent.trim()).map(e => e.outerHTML)"
    )
    assert not unnamed, f"without a name: {unnamed}"


def answers_as_the_program(browser):
    fresh(browser)
    data = root / "tests/validation/data"
    asked = documents([data / "serving_jobs.jsonl", data / "training.jsonl"], 200)
    with ThreadPoolExecutor(2) as threads:
        said = list(threads.map(lambda d: program_says(program, d), asked))
    answered = browser.execute_async_script(
        "const done = arguments[1]; Promise.all(arguments[0].map(d => ask('plan', d)))"
        ".then(all => done(all.map(a => [JSON.stringify(a.answer), a.milliseconds])))",
        [json.dumps(d) for d in asked],
    )
    for document, (text, _), expected in zip(asked, answered, said):
        same_answer(document, json.loads(text), expected)
    times = sorted(milliseconds for _, milliseconds in answered)
    print(f"  200 answers are the program's; a plan takes {statistics.median(times):.1f} ms, {times[190]:.1f} ms at the 95th percentile")
    assert statistics.median(times) < 50


def same_answer(document: dict, answer: dict, said: dict):
    if "error" in answer:
        assert answer["error"]["text"] in said.get("refused", ""), f"{document}\n{answer}\n{said}"
        return
    assert "refused" not in said, f"{document}\n{said}"
    differences = [d for d in different(answer, said, "") if d]
    assert not differences, f"{document}\n{differences}"


def different(a, b, place: str):
    """Where two documents differ; numbers may by rounding, since the two are of different math libraries."""
    if isinstance(a, dict) and isinstance(b, dict) and a.keys() == b.keys():
        for key in a:
            yield from different(a[key], b[key], f"{place}.{key}")
    elif isinstance(a, list) and isinstance(b, list) and len(a) == len(b):
        for i, (x, y) in enumerate(zip(a, b)):
            yield from different(x, y, f"{place}[{i}]")
    elif isinstance(a, float) and isinstance(b, (int, float)) or isinstance(b, float) and isinstance(a, int):
        if abs(a - b) > 1e-12 * max(abs(a), abs(b)):
            yield f"{place}: {a} and {b}"
    elif a != b:
        yield f"{place}: {a} and {b}"


def works_without_a_network(browser):
    handler = functools.partial(QuietHandler, directory=str(folder))
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    address = f"http://127.0.0.1:{server.server_port}/"
    browser.get(address)
    wait_for(browser, "window.verdict?.dataset.is", "a verdict")
    browser.execute_async_script("navigator.serviceWorker.ready.then(() => arguments[0]())")
    wait_for(browser, "navigator.serviceWorker.controller", "the page is kept")
    server.shutdown()
    server.server_close()
    browser.get("about:blank")
    browser.get(address)
    wait_verdict(browser, "does_not_fit")


class QuietHandler(http.server.SimpleHTTPRequestHandler):
    def log_message(self, *_):
        pass


def fits_a_phone():
    browser = open_browser(375, 800, dark=True)
    try:
        fresh(browser)
        wait_for(browser, "answer.dataset.whole", "the whole answer")
        width = browser.execute_script("return document.documentElement.scrollWidth")
        assert width <= 375, f"the page is {width} pixels wide on a phone of 375"
        dark = browser.execute_script("return getComputedStyle(document.body).backgroundColor")
        assert dark == "rgb(17, 22, 29)", dark
    finally:
        browser.quit()


def main():
    browser = open_browser()
    try:
        for test in (loads_and_plans, refuses_by_name, takes_a_config, link_holds_the_question, layouts_can_be_used,
                     phases_are_shown, works_by_keyboard, answers_as_the_program, works_without_a_network):
            began = time.monotonic()
            test(browser)
            print(f"{test.__name__.replace('_', ' ')}: {time.monotonic() - began:.1f} s", flush=True)
        errors = [entry for entry in browser.get_log("browser") if entry["level"] == "SEVERE"]
        assert not errors, errors
    finally:
        browser.quit()
    fits_a_phone()
    print("fits a phone, light and dark")


if __name__ == "__main__":
    main()
