"""A network of hosts whose packets a process passes on: late, seldom, or not at all.

As a program it passes packets on between interfaces (TUN) whose file descriptors it inherits; NetworkRelay makes these and starts it.
Lines on its standard input set what happens to packets from then on: `delay SECONDS`, `loss SHARE`, `cut HOST` (nothing from or to it).
"""

import fcntl
import heapq
import os
import random
import select
import struct
import subprocess
import sys
import time

TUNSETIFF, IFF_TUN, IFF_NO_PI = 0x400454CA, 0x0001, 0x1000
LARGEST = 9000


def open_interface(name):
    interface = os.open("/dev/net/tun", os.O_RDWR)
    fcntl.ioctl(interface, TUNSETIFF, struct.pack("16sH", name.encode(), IFF_TUN | IFF_NO_PI))
    return interface


class NetworkRelay:
    """The network of `hosts` (HostSpaces without cables), while it is entered."""

    def __init__(self, hosts):
        self.hosts = hosts

    def __enter__(self):
        interfaces = []
        for host in range(self.hosts.count):
            name = f"relay{host}"
            interfaces.append(open_interface(name))
            space = self.hosts.name(host)
            subprocess.run(["ip", "link", "set", name, "netns", space, "mtu", str(LARGEST)], check=True)
            subprocess.run(["ip", "-n", space, "address", "add", f"{self.hosts.address(host)}/24", "dev", name], check=True)
            subprocess.run(["ip", "-n", space, "link", "set", name, "up"], check=True)
        self.process = subprocess.Popen(
            [sys.executable, __file__, *map(str, interfaces)], stdin=subprocess.PIPE, text=True, pass_fds=interfaces
        )
        for each in interfaces:
            os.close(each)
        return self

    def __exit__(self, *_):
        self.process.kill()
        self.process.wait()
        self.process.stdin.close()

    def tell(self, *words):
        print(*words, file=self.process.stdin, flush=True)


class Network:
    """What the program knows: its interfaces, and packets on their way as (due, number, host, packet)."""

    def __init__(self, interfaces):
        self.interfaces = interfaces
        self.waiting = []
        self.number = 0
        self.delay, self.loss, self.gone = 0.0, 0.0, set()
        self.draw = random.Random(1)

    def order(self, line):
        what, value = line.split()
        if what == "delay":
            self.delay = float(value)
        elif what == "loss":
            self.loss = float(value)
        elif what == "cut":
            self.gone.add(int(value))

    def take(self, host):
        packet = os.read(self.interfaces[host], LARGEST)
        # IPv4 alone; the last byte of an address is the host's number and 1.
        if packet[0] >> 4 != 4:
            return
        to = packet[19] - 1
        if not 0 <= to < len(self.interfaces) or {host, to} & self.gone or self.draw.random() < self.loss:
            return
        self.number += 1
        heapq.heappush(self.waiting, (time.monotonic() + self.delay, self.number, to, packet))

    def deliver(self):
        """Delivers what is due, and returns the seconds until more is; None if nothing is on its way."""
        while self.waiting:
            left = self.waiting[0][0] - time.monotonic()
            if left > 0:
                return left
            _, _, to, packet = heapq.heappop(self.waiting)
            if to not in self.gone:
                os.write(self.interfaces[to], packet)
        return None

    def run(self):
        orders = sys.stdin.fileno()
        while True:
            ready, _, _ = select.select([orders, *self.interfaces], [], [], self.deliver())
            for each in ready:
                if each != orders:
                    self.take(self.interfaces.index(each))
                    continue
                line = sys.stdin.readline()
                if not line:
                    return
                self.order(line)


if __name__ == "__main__":
    Network([int(word) for word in sys.argv[1:]]).run()
