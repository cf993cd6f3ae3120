"""Pieces of work shared between threads."""

from __future__ import annotations

import pytest

from gaussopt.compiled.sharing import cores, share


@pytest.mark.parametrize("pieces", [range(1), range(3, 10), range(1000)])
@pytest.mark.parametrize("threads", [1, 2, 5, None])
def test_every_piece_is_done_once(pieces: range, threads: int | None) -> None:
    done: list[int] = []
    share(lambda first, last: done.extend(range(first, last)), pieces, threads)
    assert sorted(done) == list(pieces)


def test_what_goes_wrong_in_a_thread_is_raised() -> None:
    def work(first: int, last: int) -> None:
        raise ValueError(f"{first} to {last}")

    with pytest.raises(ValueError, match="0 to"):
        share(work, range(8), 2)


def test_there_is_a_core() -> None:
    assert cores() >= 1
