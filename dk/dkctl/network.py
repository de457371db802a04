# SPDX-License-Identifier: Apache-2.0
"""A network peer on the same machine: a network namespace behind a pair of virtual devices."""
import os
import subprocess

from .refusal import Refusal

SPACE, NEAR, FAR = "dkctl-peer", "dk-near", "dk-far"
NEAR_ADDRESS, FAR_ADDRESS = "198.18.0.1", "198.18.0.2"  # of the block for benchmarks, RFC 2544


def ip(*words):
    """Runs ip(8). Refuses where it fails."""
    try:
        done = subprocess.run(["ip", *words], capture_output=True, text=True, check=False)
    except OSError as error:
        raise Refusal("network peer", f"ip does not run: {error.strerror}", "install iproute2") from None
    if done.returncode:
        raise Refusal("network peer", f"ip {' '.join(words)}: {done.stderr.strip()}",
                      "run as root, on a kernel with veth and network namespaces")


class Peer:
    """The namespace, for as long as the context lasts."""

    def __enter__(self):
        if os.geteuid():
            raise Refusal("network peer", "network namespaces need root", "run it with sudo")
        self.remove()
        ip("netns", "add", SPACE)
        ip("link", "add", NEAR, "type", "veth", "peer", "name", FAR, "netns", SPACE)
        for where, device, address in (([], NEAR, NEAR_ADDRESS), (["-n", SPACE], FAR, FAR_ADDRESS)):
            ip(*where, "address", "add", f"{address}/30", "dev", device)
            ip(*where, "link", "set", device, "up")
        return self

    def __exit__(self, *_):
        self.remove()

    @staticmethod
    def remove():
        """Removes the namespace, and with it the devices."""
        subprocess.run(["ip", "link", "delete", NEAR], capture_output=True, check=False)
        subprocess.run(["ip", "netns", "delete", SPACE], capture_output=True, check=False)

    @staticmethod
    def start(words, cpu, inside=True):
        """Starts a program on one CPU, in the namespace or outside of it."""
        space = ["ip", "netns", "exec", SPACE] if inside else []
        return subprocess.Popen([*space, *words], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                                preexec_fn=lambda: os.sched_setaffinity(0, {cpu}))
