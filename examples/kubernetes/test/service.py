# SPDX-License-Identifier: MIT
"""The service on a free port of this machine, and questions to it, for the programs that test it."""

import contextlib
import http.client
import json
import pathlib
import socket
import ssl
import subprocess
import time


class Service:
    """A running service: `with Service.started(PROGRAM, FOLDER) as service`."""

    def __init__(self, process, port, trusted):
        self.process, self.port, self.trusted = process, port, trusted

    @classmethod
    @contextlib.contextmanager
    def started(cls, program, folder, nodes=None):
        folder = pathlib.Path(folder)
        folder.mkdir(parents=True, exist_ok=True)
        certificate, key = folder / "certificate.pem", folder / "key.pem"
        subprocess.run(["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-subj", "/CN=localhost", "-addext",
                        "subjectAltName=DNS:localhost", "-days", "1", "-keyout", key, "-out", certificate],
                       check=True, capture_output=True)
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            port = free.getsockname()[1]
        command = [program, "127.0.0.1", str(port), certificate, key] + ([nodes] if nodes else [])
        process = subprocess.Popen(command)
        try:
            for _ in range(100):
                try:
                    socket.create_connection(("127.0.0.1", port)).close()
                    break
                except ConnectionError:
                    time.sleep(0.05)
            yield cls(process, port, ssl.create_default_context(cafile=str(certificate)))
            assert process.poll() is None, f"the service ended with {process.poll()}"
            process.terminate()
            assert process.wait(10) == 0
        finally:
            process.kill()

    def connect(self, timeout=20):
        return http.client.HTTPSConnection("localhost", self.port, context=self.trusted, timeout=timeout)

    def secured(self):
        """A connection on which anything can be sent."""
        return self.trusted.wrap_socket(socket.create_connection(("127.0.0.1", self.port)), server_hostname="localhost")

    def ask(self, path, body, connection=None):
        """The status and the answer's text."""
        one = connection or self.connect()
        one.request("POST", path, body if isinstance(body, (str, bytes)) else json.dumps(body))
        said = one.getresponse()
        answer = said.read()
        if connection is None:
            one.close()
        return said.status, answer

    def resident_kib(self, peak=False):
        status = pathlib.Path(f"/proc/{self.process.pid}/status").read_text(encoding="utf-8")
        return int(status.split("VmHWM:" if peak else "VmRSS:")[1].split()[0])


SMALL = {"model": "llama-3.1-8b", "task": "serving", "runtime": "vllm", "context": 8192, "batch": 4}
LARGE = SMALL | {"model": "llama-3.1-70b"}


def container(limits, name="engine", **further):
    return {"name": name, "resources": {"limits": limits}} | further


def pod(job, gpus="1", selector=None, containers=None, sidecars=(), annotations=None):
    said = {"llmres/job": job if isinstance(job, str) else json.dumps(job)} | (annotations or {})
    return {"metadata": {"name": "chat", "annotations": said},
            "spec": {"containers": containers or [container({"nvidia.com/gpu": gpus})], "initContainers": list(sidecars),
                     "nodeSelector": {"llmres/gpu": selector} if selector else {}}}


def node(name, gpu, **further):
    return {"metadata": {"name": name, "labels": {"llmres/gpu": gpu} if gpu else {}}} | further
