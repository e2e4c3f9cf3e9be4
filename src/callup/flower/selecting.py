"""The server's side: any stock Flower strategy, with the clients chosen by a selector."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from logging import INFO, WARNING
from pathlib import Path
from typing import Any

from flwr.app import ArrayRecord, ConfigRecord, Message, MetricRecord
from flwr.common import log
from flwr.serverapp import Grid
from flwr.serverapp.strategy import Result, Strategy

from callup.core.catalogue import DEFAULT, SELECTORS
from callup.core.errors import UsageError
from callup.core.selector import Average, Filter, Selector
from callup.flower import wire
from callup.flower.called import Called
from callup.flower.calling import call
from callup.flower.closing import close
from callup.flower.evaluating import ask_to_evaluate, evaluated
from callup.flower.exchange import listen, push, sent
from callup.flower.judging import Judge
from callup.flower.options import options_of
from callup.flower.record import Recorder
from callup.flower.session import Session
from callup.flower.shown import refuse_what_cannot_work
from callup.flower.story import Story
from callup.flower.validation import Judgement

EvaluateFn = Callable[[int, ArrayRecord], MetricRecord | None]


class Selecting(Strategy):
    """Wraps a strategy: it averages as before, the selector decides whose replies there are to average.

    `selector` is a name or spec ("fed-cbs:scale=3.5"), a selector, or the run config of the app. Of a run config the
    keys selector, k, seed, deadline, quorum, overcommit, wait, filter, average, guard, run and resume are read; what
    is set here goes before what is set there. `callup.flower.options.Options` says what each setting means.
    """

    def __init__(
        self,
        strategy: Strategy,
        selector: str | Selector | Mapping[str, Any] = DEFAULT,
        *,
        run: str | Path | None = None,
        resume: bool | None = None,
        filter: str | Filter | None = None,
        average: str | Average | None = None,
        validation: Judgement | None = None,
        guard: str | None = None,
        **options: Any,
    ) -> None:
        config = dict(selector) if isinstance(selector, Mapping) else {"selector": selector}
        given = {"run": run, "resume": resume, "filter": filter, "average": average, "guard": guard, **options}
        settings, rest = options_of(config, given)
        chosen = SELECTORS.make(rest.get("selector", DEFAULT))
        refuse_what_cannot_work(strategy, chosen)
        judge = Judge(strategy, rest.get("filter"), rest.get("average"), validation, settings.seed)
        self.strategy = strategy
        self.session = Session(strategy, chosen, settings, judge, str(rest.get("guard", "off")))
        self._recorder = Recorder(rest.get("run"), bool(rest.get("resume")))
        self._called: Called | None = None
        self._story: Story | None = None
        self._playing = False
        if type(strategy).start is not Strategy.start:
            log(WARNING, "callup: %s has a start() of its own, which Selecting does not call", type(strategy).__name__)

    @property
    def selector(self) -> Selector:
        return self.session.selector

    @property
    def history(self) -> list[dict[str, Any]]:
        """One record for each round, as in events.jsonl."""
        return self._recorder.history

    def summary(self) -> None:
        options = self.session.options
        log(INFO, "\t├──> Callup: %s, k=%d, seed=%d", self.selector.spec, options.k, options.seed)
        self.strategy.summary()

    def configure_train(
        self, server_round: int, arrays: ArrayRecord, config: ConfigRecord, grid: Grid
    ) -> Iterable[Message]:
        self._story = Story(server_round)
        self._called = call(self.session, server_round, arrays, config, grid)
        return self._called.outgoing

    def aggregate_train(
        self, server_round: int, replies: Iterable[Message]
    ) -> tuple[ArrayRecord | None, MetricRecord | None]:
        called, story = self._called, self._story
        if called is None or story is None or story.index != server_round:
            raise UsageError(f"aggregate_train({server_round}) was called before configure_train({server_round})")
        if called.exchange is None:  # somebody else sent the messages and collected the replies
            called.exchange = sent(called.outgoing)
            for node, reply, seconds in called.exchange.take(replies):
                # When they came is not known here: a client that measured its own time is believed.
                called.hear(self.session.checks, node, reply, wire.seconds_of(reply) or seconds)
        arrays, metrics = close(self.session, called, story)
        story.metrics["train"] = dict(metrics or {})
        if not self._playing:
            self._recorder.round(self.session, story, arrays or called.start)
        return arrays, metrics

    def configure_evaluate(
        self, server_round: int, arrays: ArrayRecord, config: ConfigRecord, grid: Grid
    ) -> Iterable[Message]:
        return ask_to_evaluate(self.session, server_round, arrays, config, grid)

    def aggregate_evaluate(self, server_round: int, replies: Iterable[Message]) -> MetricRecord | None:
        metrics = evaluated(self.session, server_round, replies)
        if self._story is not None:
            self._story.metrics["evaluate"] = dict(metrics or {})
        return metrics

    def start(
        self,
        grid: Grid,
        initial_arrays: ArrayRecord,
        num_rounds: int = 3,
        timeout: float = 3600,
        train_config: ConfigRecord | None = None,
        evaluate_config: ConfigRecord | None = None,
        evaluate_fn: EvaluateFn | None = None,
    ) -> Result:
        """All rounds, as Flower plays them, except that each one ends: at the deadline or with enough good replies."""
        self.session.rounds, self._playing = num_rounds, True
        result = Result()
        seconds = min(timeout, self.session.options.deadline)
        configs = train_config or ConfigRecord(), evaluate_config or ConfigRecord()
        try:
            self.session.models.remember(initial_arrays)
            arrays, done = self._recorder.open(self.session, initial_arrays, result)
            self.summary()
            if evaluate_fn is not None and not done:
                _keep("at the server", result.evaluate_metrics_serverapp, 0, evaluate_fn(0, arrays))
            for index in range(done + 1, num_rounds + 1):
                log(INFO, "[ROUND %s/%s]", index, num_rounds)
                arrays = self._play(grid, index, arrays, configs, seconds, result)
                scores = evaluate_fn(index, arrays) if evaluate_fn is not None else None
                _keep("at the server", result.evaluate_metrics_serverapp, index, scores)
                if self._story is not None:
                    self._story.metrics["server"] = dict(scores or {})
                    self._recorder.round(self.session, self._story, arrays)
        finally:
            self._recorder.close()
            self._playing = False
        result.arrays = arrays
        return result

    def _play(
        self,
        grid: Grid,
        index: int,
        arrays: ArrayRecord,
        configs: tuple[ConfigRecord, ConfigRecord],
        seconds: float,
        result: Result,
    ) -> ArrayRecord:
        messages = self.configure_train(index, arrays, configs[0], grid)
        called, checks = self._called, self.session.checks
        assert called is not None  # configure_train made it
        called.exchange = push(grid, list(messages))
        listen(
            grid,
            called.exchange,
            seconds,
            enough=lambda: called.complete,
            hear=lambda node, reply, took: called.hear(checks, node, reply, took),
        )
        trained, metrics = self.aggregate_train(index, [])
        arrays = arrays if trained is None else trained
        _keep("of training", result.train_metrics_clientapp, index, metrics)
        answers = listen(grid, push(grid, list(self.configure_evaluate(index, arrays, configs[1], grid))), seconds)
        for message, node in answers.unanswered.items():
            self.session.crew.busy.add(node, message, seconds, missed=True)
        heard = self.aggregate_evaluate(index, [reply for _, reply, _ in answers.replies])
        _keep("of evaluation", result.evaluate_metrics_clientapp, index, heard)
        return arrays


def _keep(what: str, table: dict[int, MetricRecord], index: int, metrics: MetricRecord | None) -> None:
    if metrics is not None:
        table[index] = metrics
        log(INFO, "\t└──> Metrics %s: %s", what, metrics)
