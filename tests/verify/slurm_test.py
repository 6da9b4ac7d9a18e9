#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""slurm_test.py - the array job of examples/campaign, in a Slurm of one machine: what all shards did is what one campaign does,
whatever their number is.

usage: slurm_test.py dxgk example-driver example-exerciser project

munged, slurmctld and slurmd (Debian: munge, slurmctld, slurmd, slurm-client) are started with keys, ports and folders of their
own, hear 127.0.0.1 alone, and are ended with the test. Where they do not start it is skipped.
"""

import contextlib
import os
import pathlib
import secrets
import shutil
import socket
import subprocess
import sys
import time

DXGK, DRIVER, EXERCISER = map(os.path.abspath, sys.argv[1:4])
PROJECT = pathlib.Path(sys.argv[4])
sys.path[:0] = [str(PROJECT / 'tools'), os.path.dirname(os.path.abspath(__file__))]
import reports  # noqa: E402
import tap  # noqa: E402

NEEDED = ['munged', 'slurmctld', 'slurmd', 'sbatch', 'squeue', 'sinfo']
SEEDS = '0..59'
START_S, JOBS_S = 60, 300

CONFIGURATION = '''ClusterName=verify
SlurmctldHost={host}(127.0.0.1)
SlurmUser=root
AuthType=auth/munge
AuthInfo=socket={root}/munge.socket
CommunicationParameters=NoInAddrAny,NoCtldInAddrAny
SlurmctldPort={ports[0]}
SlurmdPort={ports[1]}
SlurmctldPidFile={root}/slurmctld.pid
SlurmdPidFile={root}/slurmd.pid
SlurmctldLogFile={root}/slurmctld.log
SlurmdLogFile={root}/slurmd.log
StateSaveLocation={root}/state
SlurmdSpoolDir={root}/spool
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU
MpiDefault=none
ReturnToService=2
NodeName={host} NodeAddr=127.0.0.1 CPUs=2 State=UNKNOWN
PartitionName=one Nodes={host} Default=YES MaxTime=INFINITE State=UP
'''


def free_ports(count):
    with contextlib.ExitStack() as all_of_them:
        sockets = [all_of_them.enter_context(socket.socket()) for _ in range(count)]
        for one in sockets:
            one.bind(('127.0.0.1', 0))
        return [one.getsockname()[1] for one in sockets]


class Cluster:
    """The daemons, and the environment in which the commands find them."""

    def __init__(self, root):
        self.root, self.running = pathlib.Path(root), []
        self.host = socket.gethostname().split('.')[0]
        self.environment = {**{name: value for name, value in os.environ.items() if not name.startswith(('DXGK_', 'SLURM_'))},
                            'SLURM_CONF': f'{root}/slurm.conf', 'PATH': os.environ['PATH'] + ':/usr/sbin'}

    def start(self, *command):
        log = open(self.root / (command[0] + '.out'), 'wb')  # the process has it for as long as it runs
        self.running.append(subprocess.Popen(command, env=self.environment, stdin=subprocess.DEVNULL, stdout=log, stderr=log))
        log.close()

    def command(self, *command, **more):
        return subprocess.run(command, env={**self.environment, **more}, capture_output=True, text=True, check=False, timeout=60)

    def __enter__(self):
        if os.geteuid() != 0:
            raise tap.Skip('slurmd starts jobs as root only')
        for name in NEEDED:
            if not shutil.which(name, path=self.environment['PATH']):
                raise tap.Skip(f'there is no {name}')
        for name in ('state', 'spool'):
            (self.root / name).mkdir()
        key = self.root / 'munge.key'
        key.write_bytes(secrets.token_bytes(1024))
        key.chmod(0o600)
        (self.root / 'slurm.conf').write_text(CONFIGURATION.format(root=self.root, host=self.host, ports=free_ports(2)))
        self.start('munged', '--foreground', '--force', f'--key-file={key}', f'--socket={self.root}/munge.socket',
                   f'--pid-file={self.root}/munge.pid', f'--log-file={self.root}/munge.log', f'--seed-file={self.root}/munge.seed')
        try:
            self.wait_for(lambda: (self.root / 'munge.socket').exists(), 'munged')
            self.start('slurmctld', '-D', '-f', str(self.root / 'slurm.conf'))
            self.start('slurmd', '-D', '-N', self.host, '-f', str(self.root / 'slurm.conf'))
            self.wait_for(lambda: self.command('sinfo', '-h', '-o', '%t').stdout.strip() == 'idle', 'a node')
        except BaseException:
            self.__exit__()
            raise
        return self

    def wait_for(self, is_there, what):
        deadline = time.monotonic() + START_S
        while not is_there():
            if time.monotonic() > deadline or any(one.poll() is not None for one in self.running):
                said = [line for path in sorted(self.root.glob('*.out')) for line in path.read_text().splitlines()[-1:]]
                raise tap.Skip(f'Slurm has not started {what} here: {" / ".join(said)[-300:]}')
            time.sleep(0.1)

    def __exit__(self, *_):
        for one in reversed(self.running):
            one.terminate()
            try:
                one.wait(20)
            except subprocess.TimeoutExpired:
                one.kill()
                one.wait()


def runs_of(*folders):
    return {(run['seed'], run['workload'], run['plan']): (run['result'], str(run.get('findings')))
            for folder in folders for run in reports.read_results(os.path.join(folder, 'results.jsonl'))[1]}


def submit(cluster, report, shards):
    done = cluster.command(str(PROJECT / 'examples/campaign/slurm_submit.sh'), DXGK=DXGK, DRIVER=DRIVER, EXERCISER=EXERCISER,
                           REPORT=str(report), SHARDS=str(shards), AT_A_TIME='2', SEEDS=SEEDS)
    assert done.returncode == 0 and done.stdout.strip().isdigit(), done
    deadline = time.monotonic() + JOBS_S
    while cluster.command('squeue', '-h').stdout.strip():
        assert time.monotonic() < deadline, cluster.command('squeue').stdout
        time.sleep(0.2)


def test_an_array_job_does_what_one_campaign_does_whatever_its_size(root):
    root = pathlib.Path(root)
    whole = root / 'one'
    done = subprocess.run([DXGK, 'verify', DRIVER, '--exerciser', EXERCISER, '--seeds', SEEDS, '--report', whole],
                          capture_output=True, text=True, check=False)
    assert done.returncode == 0, done
    (root / 'slurm').mkdir()
    with Cluster(root / 'slurm') as cluster:
        for shards in (4, 3):
            report = root / f'array-{shards}'
            submit(cluster, report, shards)
            parts = [report / f'shard-{shard}' for shard in range(shards)]
            logs = {path.name: path.read_text()[-1000:] for path in report.glob('*.log')}
            assert all((part / 'results.jsonl').exists() for part in parts), logs
            assert runs_of(*parts) == runs_of(whole), logs
            assert '60 seeds' in logs['merge.log'] and 'nothing found' in logs['merge.log'], logs
            reports.read_sarif(report / 'whole' / 'report.sarif')


tap.run_tests(globals())
