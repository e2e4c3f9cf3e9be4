"""The client's side: one call makes a Flower ClientApp answer what selectors ask."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from typing import Any, ClassVar

import numpy as np
from flwr.app import ArrayRecord, ConfigRecord, Context, Message, RecordDict
from flwr.clientapp import ClientApp

from callup.core.errors import InputError, UsageError
from callup.core.signals import SIGNALS, signal
from callup.flower import wire

Answer = Callable[..., Any]
Tags = Callable[[Context], Mapping[str, str | int | float | bool]]

_OF_THE_SERVER = {"duration", "update", "kept", "contribution", "class_gradients", "label_gram", "global_counts"}


def answer(app: ClientApp, *, tags: Tags | None = None, **answers: Answer | Any) -> ClientApp:
    """Makes the app answer questions about these facts; training and evaluation stay as they are.

    Facts known before any round take the context: `label_counts=lambda context: counts`. Facts about a model take the
    model too: `loss=lambda arrays, context: 0.7`. `tags` names properties by which the server may choose.
    `callup list signals` says what each fact means.
    """
    for name, function in answers.items():
        known = signal(name)
        if name in _OF_THE_SERVER:
            raise UsageError(f"'{name}' is worked out at the server; no client need answer it")
        if not callable(function):
            kind = "context" if known.times == ("profile",) else "arrays, context"
            raise UsageError(f"{name} must be a function, e.g. {name}=lambda {kind}: ...; got {function!r}")
    if isinstance(app, AnsweringApp):
        raise UsageError("answer was called twice on one app; give all facts in one call")
    if "label_counts" in answers and "num_examples" not in answers:
        counts = answers["label_counts"]
        answers["num_examples"] = lambda context: float(np.sum(counts(context)))
    # The app becomes one that looks at each message first. No private attribute is touched, and it does not matter
    # whether @app.train() stands above this call or below it.
    app.__class__ = AnsweringApp if type(app) is ClientApp else type("AnsweringApp", (AnsweringApp, type(app)), {})
    made: Any = app
    made.answers, made.tags = answers, tags
    return app


class AnsweringApp(ClientApp):
    """A ClientApp that answers Callup's questions itself and adds what was asked for to the replies of training."""

    answers: Mapping[str, Answer]
    tags: Tags | None
    needs_model: ClassVar[set[str]] = {name for name, s in SIGNALS.items() if s.times != ("profile",)}

    def __call__(self, message: Message, context: Context) -> Message:
        kind = message.metadata.message_type
        note = wire.note_of(message.content)
        if kind == wire.QUERY:
            return Message(RecordDict({wire.KEY: self._told(message.content, note, context)}), reply_to=message)
        if wire.KEY not in message.content:
            return super().__call__(message, context)
        asked = message.content
        message.content = wire.without_note(asked)
        began = time.perf_counter()
        told = self._told(asked, note, context)  # before training: these facts are about the model as received
        reply: Message = super().__call__(message, context)
        if reply.has_content():
            told[wire.SECONDS] = time.perf_counter() - began
            reply.content[wire.KEY] = told
        return reply

    def _told(self, content: RecordDict, note: ConfigRecord, context: Context) -> ConfigRecord:
        told = ConfigRecord()
        if note.get(wire.HELLO):
            told[wire.ANSWERS] = sorted(self.answers)
            for key in (wire.CLIENT_ID, wire.PARTITION_ID):
                if key in context.node_config:
                    told[key] = context.node_config[key]
            for tag, value in (self.tags(context) if self.tags else {}).items():
                told[f"{wire.TAG}{tag}"] = value
        wanted = note.get(wire.WANT, [])
        for name in map(str, wanted if isinstance(wanted, list) else []):
            if name in self.answers:
                told[name] = wire.pack(name, self._fact(name, content, context))
        return told

    def _fact(self, name: str, content: RecordDict, context: Context) -> Any:
        if name not in self.needs_model:
            return self.answers[name](context)
        models = list(content.array_records.values())
        if len(models) != 1:
            raise InputError(f"{name} is a fact about a model, and the message carries {len(models)} of them")
        value = self.answers[name](_own_copy(models[0]), context)
        return value if np.ndim(value) < 2 else np.ravel(value)


def _own_copy(arrays: ArrayRecord) -> ArrayRecord:
    """The same arrays in a record of its own: an answer that changes it must not change what is trained."""
    return ArrayRecord(dict(arrays.items()))
