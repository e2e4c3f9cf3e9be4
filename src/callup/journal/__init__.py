"""What happened, on disk before the next thing happens: a log of rounds, snapshots, and the way back after a crash."""

from callup.journal.disk import NoRoom
from callup.journal.entries import Entry
from callup.journal.found import Found
from callup.journal.journal import Journal, Pace
from callup.journal.lock import RunInUse
from callup.journal.log import Story, read_log
from callup.journal.profiles import read_profiles, write_profile
from callup.journal.replay import CannotReplay, Verdict, replay
from callup.journal.turns import Played, Turn, played, record_turn

__all__ = [
    "CannotReplay",
    "Entry",
    "Found",
    "Journal",
    "NoRoom",
    "Pace",
    "Played",
    "RunInUse",
    "Story",
    "Turn",
    "Verdict",
    "played",
    "read_log",
    "read_profiles",
    "record_turn",
    "replay",
    "write_profile",
]
