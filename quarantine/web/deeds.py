"""What an admin can do about a test from its page: one entry each, with what it asks for and the service that does it.

A new one is an entry in `DEEDS`; when it asks for something that no other asks for, also a kind of field, which is a
macro of that name in templates/deeds.html.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from typing import Any

from quarantine.domain.notice import Action
from quarantine.domain.outcome import Status
from quarantine.errors import BadInput, NotFound, QuarantineError
from quarantine.policy.wording import named, plural
from quarantine.services import aliases, answering, decisions, raising
from quarantine.services.access import Bearer
from quarantine.services.app import App
from quarantine.services.choices import Choices
from quarantine.services.raising import Was

REASON_CHARACTERS = 2_000
_DAY = timedelta(days=1)
_MOST_DAYS = 366
"""What the services still take for a length of time; nothing may last that long."""


class Mistyped(BadInput):
    """What was typed into one field cannot be used; `field` names it."""

    def __init__(self, field: str, message: str, *, mend: str = "") -> None:
        super().__init__(message, mend=mend)
        self.field = field


@dataclass(frozen=True, slots=True, kw_only=True)
class Field:
    """What a form asks for.

    Attributes:
        name: of the field in the form.
        kind: the macro of deeds.html that draws it: `reason`, `until`, `text` or `choice`.
        label: what is asked.
        hint: a further sentence; may be empty.
        needed: whether it may not be left out.
        unless: what is said beside one that may be left out.
        least, most: the first and the last date of an `until`, such as 2026-12-31.
        options: (value, label) of a `choice`.
    """

    name: str
    kind: str
    label: str
    hint: str = ""
    needed: bool = True
    unless: str = "may be left out"
    least: str = ""
    most: str = ""
    options: tuple[tuple[str, str], ...] = ()

    def offers(self, typed: str) -> bool:
        """Return whether a date, as typed, lies between the first and the last one."""
        return self.least <= typed <= self.most


@dataclass(frozen=True, slots=True, kw_only=True)
class Offer:
    """A form as it is offered now: what will happen, and what it asks for."""

    sentence: str
    fields: tuple[Field, ...]

    def wrong(self, error: QuarantineError, typed: Mapping[str, str]) -> str:
        """Return the field that an error is about: the one it names, or a date not offered; "" for none."""
        if isinstance(error, Mistyped):
            return error.field
        late = (one.name for one in self.fields if one.kind == "until" and not one.offers(typed.get(one.name, "")))
        return next(late, "")


@dataclass(frozen=True, slots=True, kw_only=True)
class Doing:
    """One form that was sent: by whom, about which test, saying what."""

    app: App
    slug: str
    test: str
    bearer: Bearer
    said: Mapping[str, str]

    @property
    def reason(self) -> str:
        """The reason as typed; raises Mistyped for one that is longer than what is kept."""
        reason = self.said.get("reason", "").strip()
        if len(reason) > REASON_CHARACTERS:
            raise Mistyped("reason", f"The reason is longer than {REASON_CHARACTERS:,} characters.", mend="Shorten it.")
        return reason

    @property
    def needed_reason(self) -> str:
        """The reason; raises Mistyped without one."""
        if not self.reason:
            raise Mistyped("reason", "It needs a reason.", mend="Say why, for whoever reads it in a month.")
        return self.reason

    @property
    def days(self) -> float:
        """The days from today to the date `until`, in UTC as all pages; raises Mistyped when it is no date to come."""
        typed = self.said.get("until", "").strip()
        try:
            until = date.fromisoformat(typed)
        except ValueError as error:
            what = f"{typed[:40]!r} is no date." if typed else "It needs a date."
            raise Mistyped("until", what, mend="Write it like 2026-12-31.") from error
        days = (until - self.app.clock().date()).days
        if days <= 0:
            raise Mistyped("until", f"{until} is no date to come.", mend="Choose a later one.")
        return float(min(days, _MOST_DAYS))

    def answer(self, action: Action, **more: Any) -> str:
        """Keep an answer as a button in Slack does; return what follows from it."""
        told = answering.answer(self.app, self.slug, self.test, action, bearer=self.bearer, **more)
        return str(told["sentence"])


@dataclass(frozen=True, slots=True, kw_only=True)
class Deed:
    """One thing that can be done.

    Attributes:
        name: in addresses and in the form, such as `snooze`.
        title: what it is, as the line that opens the form.
        button: what the button says.
        offer: what is offered as the test stands, at an instant; None when it is not possible.
        act: does it, and returns what was done as a sentence; raises what the service raises.
    """

    name: str
    title: str
    button: str
    offer: Callable[[Choices, datetime], Offer | None]
    act: Callable[[Doing], str]


def reason_field(label: str, *, needed: bool = True) -> Field:
    """Return a field for a reason."""
    return Field(name="reason", kind="reason", label=label, needed=needed)


def until_field(now: datetime, most_days: float, *, needed: bool = True) -> Field | None:
    """Return a field for a date at most so many days off; None when there is no such date."""
    most = now.date() + int(most_days) * _DAY
    least = now.date() + _DAY
    if most < least:
        return None
    hint = f"At most {plural(int(most_days), 'day')}: {most.day} {most:%b %Y}, at this hour."
    return Field(
        name="until",
        kind="until",
        label="Until (UTC)",
        hint=hint,
        needed=needed,
        least=least.isoformat(),
        most=most.isoformat(),
    )


def _release(found: Choices, _now: datetime) -> Offer | None:
    held, quarantined = found.statuses.count(Status.HELD), found.statuses.count(Status.QUARANTINED)
    if not held + quarantined:
        return None
    if not quarantined:
        sentence = "It is held no longer and goes on gating. Its evidence begins anew."
    elif found.observes:
        sentence = "It gates already, because the project observes; then it gates by itself. Its evidence begins anew."
    else:
        sentence = "It gates again at once, in every variant: a failure of it rejects. Its evidence begins anew."
    return Offer(sentence=sentence, fields=(reason_field("Why may it gate again?"),))


def _enter(found: Choices, now: datetime) -> Offer | None:
    until = until_field(now, decisions.BY_HAND_DAYS)
    if not found.enters or until is None:
        return None
    what = "would be taken" if found.observes else "is taken"
    return Offer(
        sentence=(
            f"It {what} out of the gating set at once, in {plural(found.enters, 'variant')}, and goes on running and "
            "being reported. It gates again on that date, or sooner, once it has shown that it no longer fails."
        ),
        fields=(until, reason_field("Why must it not gate?")),
    )


def _own(found: Choices, now: datetime) -> Offer | None:
    until = until_field(now, found.own_days)
    if not found.is_answerable or until is None:
        return None
    taken = ""
    if found.responsible_until is not None:
        taken = f"{found.responsible} is responsible until {found.responsible_until:%Y-%m-%d}; you take it over. "
    return Offer(
        sentence=(
            f"{taken}Nobody is told about it until then. If it is still out on that date, it comes back one level "
            "higher, with the proposal to delete it or to let it gate again."
        ),
        fields=(until, reason_field("What will you do about it?", needed=False)),
    )


def _snooze(found: Choices, now: datetime) -> Offer | None:
    until = until_field(now, found.snooze_days)
    if not found.is_answerable or not found.snoozes_left or until is None:
        return None
    left = found.snoozes_left - 1
    after = "After this it cannot be snoozed again."
    if left:
        after = f"It can be snoozed {'once' if left == 1 else plural(left, 'time')} more."
    return Offer(
        sentence=f"Nobody is told about it until then. {after}",
        fields=(until, reason_field("What will have changed by then?")),
    )


def _acknowledge(found: Choices, _now: datetime) -> Offer | None:
    if not found.is_answerable:
        return None
    return Offer(
        sentence="It is noted that you have seen it. It stays on the list, and its owner is told again next week.",
        fields=(reason_field("Anything to add?", needed=False),),
    )


_DOUBTS_SHOWN = 5


def _regression(found: Choices, _now: datetime) -> Offer | None:
    if not found.doubts:
        return None
    shown = found.doubts[:_DOUBTS_SHOWN]
    which = tuple((str(one.number), f"{one.at:%Y-%m-%d}, {one.change or 'trunk'}: {one.sentence}") for one in shown)
    more = len(found.doubts) - len(shown)
    after = f" The {plural(more, 'other')} will be asked about after them." if more else ""
    return Offer(
        sentence=f"It is closed with your answer. How the test stands does not change by it.{after}",
        fields=(
            Field(name="raised", kind="choice", label="Which one?", options=which),
            Field(
                name="was",
                kind="choice",
                label="What was it?",
                options=(
                    (Was.REGRESSION.value, "A regression: the change broke something"),
                    (Was.FLAKE.value, "A flake: the test failed by chance"),
                ),
            ),
            reason_field("How do you know?"),
        ),
    )


def _alias(found: Choices, _now: datetime) -> Offer | None:
    if not found.is_gone:
        return None
    hint = "Its id, or its name as on its own page."
    if found.looks_like:
        hint = f"Trunk shows one that it looks like: {named(found.looks_like)}."
    return Offer(
        sentence=(
            "From then on reports of the new name are counted here: where it stands, its evidence and the days it has "
            "been out go on. What the new name did by itself until now counts for nothing."
        ),
        fields=(
            Field(name="to", kind="text", label="What is it called now?", hint=hint),
            reason_field("How do you know that it is the same test?"),
        ),
    )


def _apart(found: Choices, _now: datetime) -> Offer | None:
    if not found.names:
        return None
    return Offer(
        sentence="That name is a test of its own again, and gates. What was counted by it meanwhile stays here.",
        fields=(
            Field(name="to", kind="choice", label="Which name is another test's?", options=found.names),
            reason_field("How do you know?"),
        ),
    )


def _to(doing: Doing) -> str:
    """Return the name that was typed or chosen; raises Mistyped without one."""
    typed = doing.said.get("to", "").strip()
    if not typed or "\0" in typed:
        raise Mistyped("to", "It needs the name of a test.", mend="Copy it from the page of that test.")
    return typed


def _do_alias(doing: Doing) -> str:
    to, reason = _to(doing), doing.needed_reason
    try:
        told = aliases.alias(doing.app, doing.slug, doing.test, to, bearer=doing.bearer, reason=reason)
    except NotFound as error:
        raise Mistyped("to", error.message, mend=error.mend) from error
    return str(told["sentence"])


def _do_apart(doing: Doing) -> str:
    to, reason = _to(doing), doing.needed_reason
    try:
        told = aliases.end(doing.app, doing.slug, doing.test, to, bearer=doing.bearer, reason=reason)
    except NotFound as error:
        raise Mistyped("to", error.message, mend=error.mend) from error
    return str(told["sentence"])


def _do_enter(doing: Doing) -> str:
    days, reason = doing.days, doing.needed_reason
    told = decisions.quarantine(doing.app, doing.slug, doing.test, bearer=doing.bearer, reason=reason, days=days)
    return f"{told['name']} is quarantined until {told['until'][:16].replace('T', ' ')} UTC."


def _do_answer_regression(doing: Doing) -> str:
    raised, was = doing.said.get("raised", ""), doing.said.get("was", "")
    if not raised.isascii() or not raised.isdigit() or len(raised) > len(str(10**9)):
        raise Mistyped("raised", "It needs to be said which one.", mend="Choose one of them.")
    if was not in set(Was):
        raise Mistyped("was", "It needs to be said what it was.", mend="Choose one of the two.")
    reason, number = doing.needed_reason, int(raised)
    told = raising.answer(doing.app, doing.slug, doing.test, number, was=Was(was), bearer=doing.bearer, reason=reason)
    return str(told["sentence"])


DEEDS: Mapping[str, Deed] = {
    deed.name: deed
    for deed in (
        Deed(
            name="regression",
            title="Answer what it raised",
            button="Answer",
            offer=_regression,
            act=_do_answer_regression,
        ),
        Deed(
            name=Action.RELEASE.value,
            title="Let it gate again",
            button="Let it gate again",
            offer=_release,
            act=lambda doing: doing.answer(Action.RELEASE, reason=doing.needed_reason),
        ),
        Deed(
            name=Action.OWN.value,
            title="Take responsibility until a date",
            button="Take responsibility",
            offer=_own,
            act=lambda doing: doing.answer(Action.OWN, days=doing.days, reason=doing.reason),
        ),
        Deed(
            name=Action.SNOOZE.value,
            title="Snooze until a date",
            button="Snooze",
            offer=_snooze,
            act=lambda doing: doing.answer(Action.SNOOZE, days=doing.days, reason=doing.needed_reason),
        ),
        Deed(
            name=Action.ACKNOWLEDGE.value,
            title="Say that you have seen it",
            button="Seen it",
            offer=_acknowledge,
            act=lambda doing: doing.answer(Action.ACKNOWLEDGE, reason=doing.reason),
        ),
        Deed(
            name="enter",
            title="Quarantine it by hand",
            button="Quarantine it",
            offer=_enter,
            act=_do_enter,
        ),
        Deed(
            name="alias",
            title="Say what it is called now",
            button="It is the same test",
            offer=_alias,
            act=_do_alias,
        ),
        Deed(
            name="apart",
            title="Take a name from it",
            button="They are two tests",
            offer=_apart,
            act=_do_apart,
        ),
    )
}
"""By name, in the order in which they are shown."""
