"""Validates files in several processes.

The answer about an object may depend on any other object, so there are two rounds: in the first, every process reads files
and sends what others need to know about them; in the second, each reviews the objects that it has read. A process that has
finished some files takes the next ones, so that one on a busy processor, or with long files, takes fewer. The outcome does
not depend on which process did what: everything is put in the order of the files.
"""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING, Any, NamedTuple

from claimcheck.answers.cluster_context import Knowledge
from claimcheck.answers.outcome import Outcome
from claimcheck.answers.reading import Input, read_files
from claimcheck.answers.validate.batch import Batch
from claimcheck.answers.validate.looking_ahead import limit
from commandline.reports import WITH_LINES
from commandline.terminal import Progress
from commandline.validate.options import outputs
from commandline.validate.request import batch_of, existing, knowledge_of, reviewer_of
from commandline.validate.workers import Channel, Tickets, Worker, start
from validation.requests import Answer

if TYPE_CHECKING:
    from argparse import Namespace

    from resourceapi.releases import Profile


def portable(outcome: Outcome, *, lines: bool) -> Outcome:
    """Leave in an outcome what reports show of it, so that it can be sent to another process; return it.

    What would fix findings is left out: who asks for that has one process.

    :param lines: whether they also show the lines of results without findings.
    """
    for result in outcome.results:
        result.findings = [finding._replace(changes=()) for finding in result.findings]
        result.afterwards = [finding._replace(changes=()) for finding in result.afterwards]
        excerpt = {
            finding.line: result.source.source_line(finding.line)
            for finding in (*result.findings, *result.afterwards)
            if finding.line
        }
        line = result.line if lines else 0
        result.source = _Excerpt(line, excerpt) if line or excerpt else _NO_EXCERPT
        if result.answer is not None:
            result.answer = None if result.answer.accepted else _as_status(result.answer)
    return outcome


class _Excerpt(NamedTuple):
    """The lines of a source that reports show."""

    line: int
    lines: dict[int, str]

    def source_line(self, number: int) -> str:
        return self.lines[number]


_NO_EXCERPT = _Excerpt(0, {})


def _as_status(refusal: Answer) -> Answer:
    status = refusal.status()
    return Answer(
        status["code"],
        reason=status.get("reason", ""),
        message=status["message"],
        details=status.get("details"),
    )


Files = list[Input]


def validate_files(files: Files, options: Namespace, profile: Profile, processes: int) -> Outcome:
    """The same outcome for these files as from one process.

    :raises WorkerLost: if one of the processes ends too early.
    """
    inventory = batch_of(options, profile)
    inventory.read_inventory(existing(options, profile))
    share = _Share(files, options, profile, inventory.knowledge)
    workers: list[Worker] = []
    _load_ahead()
    try:
        with suppress(OSError):  # the system allows no more processes: then there are fewer
            for _ in range(processes - 1):
                start(share.work, workers)
        outcome = share.lead(workers)
    finally:
        for worker in workers:
            worker.end()
        share.tickets.close()
    outcome.failures += inventory.outcome.failures
    return outcome


def _load_ahead() -> None:
    """Import slow modules that the first claim needs, before every process would import them."""
    from deviceselectors import compiler, libraries, lookups  # noqa: F401

    libraries.load()


class _Share:
    """One process's share of the work."""

    def __init__(self, files: Files, options: Namespace, profile: Profile, inventory: Knowledge) -> None:
        self.options = options
        self.profile = profile
        self.inventory = inventory
        size = -(-len(files) // Tickets.MOST)
        self.parts = [files[start : start + size] for start in range(0, len(files), size)]
        self.tickets = Tickets(len(self.parts))
        self.batches: dict[int, Batch] = {}
        self._shows_progress = not options.quiet

    def lead(self, workers: list[Worker]) -> Outcome:
        """Do a share in the parent process, and combine the shares of all."""
        learnt = self.read()
        for worker in workers:
            learnt.update(worker.receive())
        knowledge = knowledge_of(self.options, self.profile)
        for number in range(len(self.parts)):
            knowledge.add(learnt[number])
        knowledge.add(self.inventory.learnt())
        for worker in workers:
            worker.send(knowledge.learnt())
        self.review(knowledge)
        packed: dict[int, Outcome] = {}
        for worker in workers:
            packed.update(worker.receive())
        return self._together(packed)

    def work(self, channel: Channel) -> None:
        """Do a share in a worker process."""
        self._shows_progress = False
        channel.send(self.read())
        knowledge = knowledge_of(self.options, self.profile)
        knowledge.add(channel.receive())
        self.review(knowledge)
        lines = any(format in WITH_LINES for format, _ in outputs(self.options.output))
        channel.send({number: portable(batch.outcome, lines=lines) for number, batch in self.batches.items()})

    def read(self) -> dict[int, Any]:
        """Read files until none are left; returns what they say about others, by part."""
        progress = Progress("documents read by the first process", shown=self._shows_progress)
        while (number := self.tickets.take()) is not None:
            batch = self.batches[number] = batch_of(self.options, self.profile)
            batch.read(read_files(self.parts[number], self.profile), progress.step)
        progress.done()
        return {number: batch.knowledge.learnt() for number, batch in self.batches.items()}

    def review(self, knowledge: Knowledge) -> None:
        """Review the objects that this process has read."""
        total = sum(len(batch.objects) for batch in self.batches.values())
        progress = Progress("of the objects that the first process checks", total, shown=self._shows_progress)
        reviewer = reviewer_of(self.options, self.profile, knowledge)
        for batch in self.batches.values():
            batch.review(reviewer, progress.step)
        progress.done()

    def _together(self, packed: dict[int, Outcome]) -> Outcome:
        outcome = Outcome(self.profile.name)
        for number in range(len(self.parts)):
            outcome.add(packed[number] if number in packed else self.batches[number].outcome)
        limit(outcome.results)
        return outcome
