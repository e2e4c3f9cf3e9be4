"""From text to words: lower case, no punctuation and, if wanted, no stop words."""

from __future__ import annotations

import re

_WORD = re.compile(r"\w+(?:'\w+)*")

STOP_WORDS = frozenset(
    " ".join(
        (
            "a an the this that these those such same own other another",
            "i me my mine myself we us our ours ourselves you your yours yourself yourselves",
            "he him his himself she her hers herself it its itself they them their theirs themselves one's",
            "who whom whose which what when where why how whether there here",
            "am is are was were be been being have has had having do does did doing",
            "can could will shall should may might must",
            "and or but nor so yet if because as until while than then though although since unless",
            "of at by for with about against between into through during before after above below to from",
            "up down in out on off over under again further once per via upon within without",
            "all any both each few more most some no not only too very just now also ever even",
            "s t d ll m re ve",
        )
    ).split()
)
"""English words that carry grammar rather than meaning."""
_NEGATED = frozenset(  # as in don't
    " ".join(("ain aren couldn didn doesn don hadn hasn", "haven isn mustn shouldn wasn weren won wouldn")).split()
)


def split_words(text: str, stop_words: bool) -> list[str]:
    """The words of a text, with or without stop words.

    >>> split_words("I don't think it's the Kernel's fault!", stop_words=False)
    ['think', "kernel's", 'fault']
    """
    words: list[str] = _WORD.findall(text.lower().replace("’", "'"))
    return words if stop_words else [word for word in words if not _is_stop_word(word)]


def _is_stop_word(word: str) -> bool:
    head, apostrophe, _ = word.partition("'")
    return word in STOP_WORDS or (bool(apostrophe) and (head in STOP_WORDS or head in _NEGATED))
