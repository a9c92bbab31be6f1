"""Hosts that are network namespaces, joined to one switch by cables."""

import os
import shutil
import subprocess


def ip(*words):
    return subprocess.run(["ip", *words], check=True, capture_output=True, text=True).stdout


def can_make_hosts():
    """Whether this process may make network namespaces with cables."""
    if os.geteuid() != 0 or shutil.which("ip") is None:
        return False
    try:
        with HostSpaces(1):
            return True
    except subprocess.CalledProcessError:
        return False


class HostSpaces:
    """So many hosts, host i with address 10.78.0.(i + 1); without `cables` nothing joins them yet."""

    def __init__(self, count, cables=True):
        self.mark = f"sluice-{os.getpid()}"
        self.switch = f"{self.mark}-switch"
        self.count, self.cables = count, cables
        self.made = []

    def __enter__(self):
        try:
            self.make(self.switch)
            ip("-n", self.switch, "link", "add", "switch", "type", "bridge")
            ip("-n", self.switch, "link", "set", "switch", "up")
            for host in range(self.count):
                name = self.name(host)
                self.make(name)
                ip("-n", name, "link", "set", "lo", "up")
                if not self.cables:
                    continue
                ip("link", "add", "cable", "netns", name, "type", "veth", "peer", "name", f"port{host}", "netns", self.switch)
                ip("-n", self.switch, "link", "set", f"port{host}", "master", "switch", "up")
                ip("-n", name, "address", "add", f"{self.address(host)}/24", "dev", "cable")
                ip("-n", name, "link", "set", "cable", "up")
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_):
        for name in self.made:
            subprocess.run(["ip", "netns", "delete", name], check=False, capture_output=True)

    def make(self, name):
        ip("netns", "add", name)
        self.made.append(name)

    def name(self, host):
        return f"{self.mark}-{host}"

    def address(self, host):
        return f"10.78.0.{host + 1}"

    def on(self, host, words):
        """The words of a command that runs on the host."""
        return ["ip", "netns", "exec", self.name(host), *map(str, words)]

    def received(self, host):
        """Bytes that have come to the host by its cable."""
        return int(ip("netns", "exec", self.name(host), "cat", "/sys/class/net/cable/statistics/rx_bytes"))

    def slow(self, megabits):
        """Lets each host send so many Mbit/s at most."""
        for host in range(self.count):
            shaped = ("tbf", "rate", f"{megabits}mbit", "burst", "64kb", "latency", "50ms")
            subprocess.run(self.on(host, ["tc", "qdisc", "replace", "dev", "cable", "root", *shaped]), check=True)

    def cut(self, host):
        """Takes the host's cable out of the switch."""
        ip("-n", self.switch, "link", "set", f"port{host}", "down")
