"""A real Slurm of one node on loopback, from Debian's packages slurm-wlm and munge."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

NEEDED = ("munged", "slurmctld", "slurmd", "sbatch")
CONF = """
ClusterName=loopback
SlurmctldHost={host}(127.0.0.1)
SlurmctldPort={ports[0]}
SlurmdPort={ports[1]}
CommunicationParameters=NoInAddrAny
AuthInfo=socket={folder}/munge.sock
SlurmUser=root
StateSaveLocation={folder}/state
SlurmdSpoolDir={folder}/spool
SlurmctldPidFile={folder}/slurmctld.pid
SlurmdPidFile={folder}/slurmd.pid
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SwitchType=switch/none
MpiDefault=none
ReturnToService=2
SelectType=select/cons_tres
SelectTypeParameters=CR_Core
NodeName={host} NodeAddr=127.0.0.1 CPUs={cpus} RealMemory=6000 State=UNKNOWN
PartitionName=only Nodes={host} Default=YES MaxTime=INFINITE State=UP
"""


def is_installed() -> bool:
    """Whether it can be started: by root alone, since munge and Slurm want that."""
    return os.geteuid() == 0 and all(shutil.which(name) for name in NEEDED)


@contextmanager
def started(folder: Path) -> Iterator[None]:
    """Its three daemons, stopped at the end; commands find it by the environment."""
    for name in ("state", "spool"):
        (folder / name).mkdir(parents=True)
    host = socket.gethostname().partition(".")[0]
    conf, key = folder / "slurm.conf", folder / "munge.key"
    conf.write_text(CONF.format(host=host, ports=[_free_port(), _free_port()], folder=folder, cpus=os.cpu_count()))
    key.write_bytes(os.urandom(1024))
    key.chmod(0o400)
    files = [f"--{name}-file={folder}/munge.{name}" for name in ("key", "pid", "log", "seed")]
    commands = (
        ["munged", "--foreground", "--force", f"--socket={folder}/munge.sock", *files],
        ["slurmctld", "-D"],
        ["slurmd", "-D"],
    )
    os.environ["SLURM_CONF"] = str(conf)
    running: list[subprocess.Popen[bytes]] = []
    try:
        for command in commands:
            with (folder / f"{command[0]}.log").open("wb") as log:
                running.append(subprocess.Popen(command, stdout=log, stderr=log))
            time.sleep(0.5)
        _until_idle(folder)
        yield
    finally:
        for process in reversed(running):
            process.terminate()
            with suppress(subprocess.TimeoutExpired):
                process.wait(20)
            process.kill()
            process.wait()
        del os.environ["SLURM_CONF"]


def _until_idle(folder: Path) -> None:
    for _ in range(60):
        state = subprocess.run(["sinfo", "-h", "-o", "%T"], capture_output=True, text=True, check=False).stdout.strip()
        if state == "idle":
            return
        time.sleep(0.5)
    raise RuntimeError("\n".join(log.read_text() for log in folder.glob("*.log")))


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])
