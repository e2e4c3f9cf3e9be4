"""Replies brought into one form: strategies stop the run when two replies differ in a name or in their order."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

from flwr.app import ArrayRecord, Message, MetricRecord, RecordDict

Form = tuple[tuple[str, int], ...]
"""Names of metrics with the length of each: 0 for a number, n for a list of n."""


def form_of(record: MetricRecord) -> Form:
    return tuple(sorted((name, len(value) if isinstance(value, list) else 0) for name, value in record.items()))


def usual(forms: Counter[Form]) -> Form:
    """The form most replies have; of equally usual ones the shortest: a reply with more can be cut, not filled."""
    most = max(forms.values())
    return min((form for form, times in forms.items() if times == most), key=lambda form: (len(form), form))


def bring_into_form(messages: dict[int, Message], like: ArrayRecord | None) -> dict[int, str]:
    """Gives the replies of one round the same names in the same order; returns whose cannot be, and why."""
    contents = {client: message.content for client, message in messages.items()}
    if not contents:
        return {}
    form = usual(Counter(form_of(_metrics(content)) for content in contents.values()))
    arrays_name = _most(name for content in contents.values() for name in content.array_records)
    metrics_name = _most(name for content in contents.values() for name in content.metric_records)
    odd: dict[int, str] = {}
    for client, content in contents.items():
        metrics = _metrics(content)
        lacking = set(form) - set(form_of(metrics))
        if lacking:
            odd[client] = f"its metrics lack '{min(lacking)[0]}', or it has another form"
            continue
        records: dict[str, ArrayRecord | MetricRecord] = {}
        for arrays in content.array_records.values():
            order = arrays if like is None else like
            records[arrays_name] = ArrayRecord({name: arrays[name] for name in order})
        records[metrics_name] = MetricRecord({name: metrics[name] for name, _ in form})
        messages[client].content = RecordDict({**records, **content.config_records})
    return odd


def _metrics(content: RecordDict) -> MetricRecord:
    return next(iter(content.metric_records.values()))


def _most(names: Iterable[str]) -> str:
    counted = Counter(names)
    return min(counted, key=lambda name: (-counted[name], name)) if counted else ""
