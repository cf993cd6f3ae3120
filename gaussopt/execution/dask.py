"""Run jobs on an existing Dask cluster."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import pkgutil
import socket
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import Executor, Future, InvalidStateError
from functools import partial
from typing import Any

from gaussopt._version import __version__
from gaussopt.core.errors import BadInput, MissingBackend
from gaussopt.processes.job import sentence


@contextlib.contextmanager
def dask_executor(address: str, timeout: float = 10.0) -> Iterator[Executor]:
    """Yield the workers of an existing Dask cluster as an executor for `run_jobs`.

    `address` names the scheduler, such as "tcp://10.0.0.1:8786", which must answer within `timeout` seconds.
    Raises MissingBackend without Dask's distributed, and BadInput if the scheduler does not answer, or a worker lacks
    gaussopt or has another version of it.
    """
    try:
        from distributed import Client  # loaded here: it is optional, and slow to import
    except ImportError:
        raise MissingBackend(
            "A Dask cluster needs the package 'distributed', which is not installed: pip install 'gaussopt[dask]'."
        ) from None
    with _quiet("distributed"), _quiet("tornado"), _quiet("asyncio"):
        _knock(address, timeout)
        try:
            client = Client(address, timeout=timeout, set_as_default=False)
        except Exception as error:
            raise _silent(address, sentence(error)) from None
        try:
            _check(client)
            yield _Workers(client)
        finally:
            client.close(timeout=timeout)


class _Workers(Executor):
    """The workers of a client's cluster.

    Dask's own executor never completes a job whose result was ready, but not fetched yet, when the cluster died.
    """

    def __init__(self, client: Any) -> None:
        self._client = client

    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
        """Send a call to a worker."""
        here: Future[Any] = Future()
        there = self._client.submit(fn, *args, pure=False, **kwargs)

        def settle(there: Any) -> None:
            try:
                done = partial(here.set_result, there.result())
            except BaseException as error:  # lost jobs are reported by exceptions that do not derive from `Exception`
                done = partial(here.set_exception, error)
            with contextlib.suppress(InvalidStateError):  # the job was cancelled here
                done()

        there.add_done_callback(settle)
        here.add_done_callback(lambda here: there.cancel() if here.cancelled() else None)
        return here


def _knock(address: str, timeout: float) -> None:
    """Check that the scheduler answers, since `Client` would wait forever for a port that never answers."""
    from distributed import rpc
    from distributed.comm import get_address_host_port

    async def ask() -> None:
        async with rpc(address, timeout=timeout) as scheduler:
            await asyncio.wait_for(scheduler.identity(), timeout)

    nothing = f"nothing within {timeout:g} s"
    reasons: list[str] = []

    def knock() -> None:
        try:
            socket.getaddrinfo(*get_address_host_port(address))
            asyncio.run(ask())
            reasons.append("")
        except TimeoutError:
            reasons.append(nothing)
        except Exception as error:  # such as: connection refused, unknown host, another service, invalid address
            reasons.append(sentence(error))

    thread = threading.Thread(target=knock, daemon=True)  # in a thread: a name lookup may take longer than the timeout
    thread.start()
    thread.join(timeout)
    reason = reasons[0] if reasons else nothing
    if reason:
        raise _silent(address, reason)


def _silent(address: str, reason: str) -> BadInput:
    return BadInput(
        f"No Dask scheduler answers at {address!r} ({reason.rstrip('.')}); give the address that it prints when it "
        "starts, such as tcp://10.0.0.1:8786."
    )


def _check(client: Any) -> None:
    """Check gaussopt's version on the workers; the guard of each job compares the rest of the environment."""
    versions = client.run(pkgutil.resolve_name, "gaussopt:__version__", on_error="return")
    for worker, found in versions.items():
        if isinstance(found, BaseException):
            raise BadInput(f"The Dask worker {worker} cannot import gaussopt: {sentence(found)}.")
        if found != __version__:
            raise BadInput(f"The Dask worker {worker} has gaussopt {found}, this is {__version__}.")


@contextlib.contextmanager
def _quiet(name: str) -> Iterator[None]:
    """Silence a library's log; gaussopt reports the relevant errors itself."""
    logger = logging.getLogger(name)
    level = logger.level
    logger.setLevel(logging.CRITICAL + 1)
    try:
        yield
    finally:
        logger.setLevel(level)
