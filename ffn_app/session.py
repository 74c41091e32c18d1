"""What one visitor's session holds, and what each of their actions does to it: pure functions.

The browser sends a log of numbered events (ffn_app/board/queue.js). `receive` applies those it has not
yet seen, in order. Everything in an event comes from a visitor and is checked here or by ffn_core.
"""

import hashlib
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from typing import Any, Literal, NamedTuple, cast
from urllib.parse import urlencode

import numpy as np

from ffn_app.look import Look, chosen_by
from ffn_app.view import NOT_OF_THE_EXAMPLE, VIEW_FIELDS, Looked, View, is_count
from ffn_core import weight_files
from ffn_core.activations import ACTIVATIONS
from ffn_core.counting import MODELS
from ffn_core.examples import EXAMPLES, VARIANTS
from ffn_core.examples import example as example_called
from ffn_core.families import kind_of
from ffn_core.matrix_text import parse_matrix
from ffn_core.scenario import Edit, EditError, Scenario
from ffn_core.shape_scenario import ShapeScenario

Family = Literal["dense", "gated", "experts", "shape"]
STARTS: dict[Family, Looked] = {
    "dense": Scenario(),
    "gated": Scenario(base="gates"),
    "experts": Scenario(base="experts"),
    "shape": ShapeScenario(),
}
"""What each family of pages shows a visitor who brings nothing."""
PAGES: dict[Family, str] = {
    "dense": "Hourglass",
    "gated": "Gates",
    "experts": "Experts",
    "shape": "Counting",
}
"""The page on which a family is at home."""
WHAT: dict[Family, str] = {
    "dense": "A dense network",
    "gated": "A gated network",
    "experts": "A mixture of experts",
    "shape": "A model's shape",
}
MOST_UNDO = 400
MOST_EDITS = 2000
MOST_SHAPE_EDITS = 200


class Step(NamedTuple):
    """A scenario to go back or forward to, without its arrays: hundreds of those of a large network are gigabytes."""

    kind: type[Scenario] | type[ShapeScenario]
    recipe: dict[str, Any]

    @classmethod
    def of(cls, scenario: Looked) -> "Step":
        """What is needed to make the scenario again."""
        recipe: dict[str, Any] = {"base": scenario.base, "edits": scenario.edits}
        if isinstance(scenario, Scenario):
            recipe["activation"] = scenario.activation
        return cls(type(scenario), recipe)

    def scenario(self) -> Looked:
        """The scenario, replayed."""
        return self.kind(**self.recipe)


@dataclass(frozen=True, kw_only=True)
class Desk:
    """One family's scenario, how to go back and forward from it, and how it is looked at.

    `past` and `future` are the scenarios that undo and redo go to; `gesture` is the drag that the last edit belongs
    to, and the scenario before it. `colours_of` is the scenario that the colour scales were fitted to, None for the
    starting point. `wants` names a scenario that only the visitor's tab has.
    """

    # Of a page's own family, which its parts know: a Scenario, on "Counting" a ShapeScenario.
    present: Any
    past: tuple[Step, ...] = ()
    future: tuple[Step, ...] = ()
    view: View = field(default_factory=View)
    look: Look | None = None
    gesture: tuple[str, Any] | None = None
    colours_of: Any = None
    wants: str | None = None


@dataclass(frozen=True, kw_only=True)
class Session(Desk):
    """One visitor's state: the desk of the family whose page is open, the others as they were left, and what is shared.

    `client` and `applied` say which browser page's events were applied, and up to which. `give` is what the browser has
    asked for.
    """

    family: Family = "dense"
    desks: Mapping[Family, Desk] = field(default_factory=dict)
    notices: tuple[str, ...] = ()
    problem: str | None = None
    problem_number: int = 0
    client: str = ""
    applied: int = 0
    give: str | None = None
    gives: int = 0


_DESK = tuple(part.name for part in fields(Desk))


def turned_to(session: Session, family: Family) -> Session:
    """The session with that family's desk in front."""
    if family == session.family:
        return session
    left = Desk(**{name: getattr(session, name) for name in _DESK})
    desk = session.desks.get(family) or Desk(present=STARTS[family])
    others = {name: kept for name, kept in session.desks.items() if name != family} | {session.family: left}
    return replace(session, family=family, desks=others, **{name: getattr(desk, name) for name in _DESK})


def family_of(scenario: Looked) -> Family:
    """The family that a scenario is of."""
    return "shape" if isinstance(scenario, ShapeScenario) else scenario.family


def placed(session: Session, scenario: Looked) -> Session:
    """The session with a scenario in front of its own family; if that is another than the page's, a notice says where."""
    page, family = session.family, family_of(scenario)
    session = turned_to(moved(turned_to(session, family), scenario), page)
    if family == page:
        return session
    told = f"{WHAT[family]} is open on the page “{PAGES[family]}”: this page shows {_lower(WHAT[page])}."
    return replace(session, notices=(*session.notices, told))


def _lower(text: str) -> str:
    return text[:1].lower() + text[1:]


def open_session(query: Mapping[str, str], family: Family = "dense") -> Session:
    """The session that a link opens on a page of that family; what the link holds in vain is told in `notices`.

    A scenario of another family is put on that family's desk, and that is in front: its page should be opened.
    """
    scenario: Looked
    base = STARTS[family].base
    if "m" in query or (family == "shape" and not query.keys() & {"ex", "r"}):
        scenario, warnings = ShapeScenario.from_query(query)
    elif family == "shape" or not isinstance(base, str):
        scenario, warnings = Scenario.from_query(query)
    else:
        scenario, warnings = Scenario.from_query(query, default=base)
    kept = query.get("kept", "")
    desk = Desk(
        present=scenario,
        view=View.from_query(query).within(scenario),
        wants=kept if isinstance(scenario, Scenario) and kept.isalnum() and len(kept) <= 16 else None,
    )
    there = family_of(scenario)
    notices = tuple(warnings)
    if desk.wants is None:
        notices += tuple(desk.view.lost(query))
    if there != family:
        notices += (f"The link holds {_lower(WHAT[there])}: this is its page.",)
    return Session(family=there, notices=notices, **{name: getattr(desk, name) for name in _DESK})


def token(scenario: Looked) -> str:
    """A short name for a scenario: the same for the same base, nonlinearity and edits."""
    said = [family_of(scenario), scenario.to_query()]
    return hashlib.sha256(json.dumps(said, sort_keys=True).encode()).hexdigest()[:16]


def link(session: Session) -> tuple[str, bool]:
    """The query string for the address bar, and whether the scenario was too long for it.

    Then the address holds a name under which the visitor's own tab keeps the scenario (frame/keep.js).
    """
    query = session.present.link_query()
    if query is None or session.wants:
        query = Scenario(base=session.present.base).to_query() | {
            "kept": session.wants or token(session.present)
        }
    return urlencode(query | session.view.to_query(), safe=",.~-_"), "kept" in query


# ---------------------------------------------------------------- changes


def moved(session: Session, scenario: Looked) -> Session:
    """The session with another scenario in front, undoable."""
    past = (*session.past, Step.of(session.present))[-MOST_UNDO:]
    return replace(_with_present(session, scenario), past=past, future=())


def _with_present(session: Session, scenario: Looked) -> Session:
    return replace(
        session, present=scenario, gesture=None, view=session.view.within(scenario), wants=None, problem=None
    )


def edited(session: Session, *edits: Edit, gesture: str | None = None) -> Session:
    """The session with edits made; those of one gesture (a drag) count as one step of undo."""
    if gesture is not None and session.gesture is not None and session.gesture[0] == gesture:
        before = session.gesture[1]
        after = _with_present(session, before.edit(*edits))  # in place of the gesture's earlier edit
    else:
        before = session.present
        if len(before.edits) >= (MOST_EDITS if isinstance(before, Scenario) else MOST_SHAPE_EDITS):
            before = (
                before.compact()
            )  # the same numbers in one edit; undo still has every step of this session
        after = moved(session, before.edit(*edits))
    return after if gesture is None else replace(after, gesture=(gesture, before))


def undone(session: Session) -> Session:
    """One step back: the scenario before the last action, or, after a reload, without its last edit."""
    if session.past:
        before, past = session.past[-1].scenario(), session.past[:-1]
    elif session.present.edits:
        before, past = session.present.undo(), ()
    else:
        return session
    return replace(
        _with_present(session, before), past=past, future=(*session.future, Step.of(session.present))
    )


def redone(session: Session) -> Session:
    """One step forward again."""
    if not session.future:
        return session
    return replace(moved(session, session.future[-1].scenario()), future=session.future[:-1])


# ---------------------------------------------------------------- events


def _edit(session: Session, event: Mapping[str, Any]) -> Session:
    array, index, value = event["array"], tuple(event["index"]), event["value"]
    gesture = event.get("gesture")
    if not isinstance(gesture, str) or len(gesture) > 40:
        gesture = None
    return edited(session, Edit(array, index, value), gesture=gesture)


def _paste(session: Session, event: Mapping[str, Any]) -> Session:
    array, index = event["array"], tuple(event["index"])
    target = session.present.arrays[array]
    if len(index) != target.ndim or not all(
        is_count(i) and i < n for i, n in zip(index, target.shape, strict=True)
    ):
        raise ValueError(f"{array} is {_by(target.shape)}: there is no cell {list(index)[:3]} to paste at")
    matrix = parse_matrix(str(event["text"]))
    expert = 1 if session.present.kind.axes[array][0] == "n_experts" and array != "router" else 0
    target, corner = target[index[:expert]], index[expert:]  # within one expert of a stack
    if target.ndim == 1:
        if 1 not in matrix.shape:
            raise ValueError(
                f"{array} is one line of numbers; what was pasted has {_by(matrix.shape)} of them"
            )
        matrix = matrix.ravel()
    elif array == "x" and matrix.shape[1] == 1 and target.shape[1] > 1:
        matrix = matrix.T  # x is drawn as a column: a pasted column runs down it
    room = tuple(size - first for size, first in zip(target.shape, corner, strict=True))
    if any(need > have for need, have in zip(matrix.shape, room, strict=True)):
        raise ValueError(
            f"what was pasted has {_by(matrix.shape)} numbers, but from {array}{''.join(f'[{i}]' for i in index)} on "
            f"there is room for {_by(room)}; paste fewer, start further up or left, or make the network larger first"
        )
    line_of_stack = expert and target.ndim == 1  # an edit of a stack of lines takes rows
    return edited(session, Edit(array, index, (_nested(matrix),) if line_of_stack else _nested(matrix)))


def _by(shape: Sequence[int]) -> str:
    return " by ".join(str(size) for size in shape)


def _nested(matrix: np.ndarray) -> tuple[Any, ...]:
    rows = matrix.tolist()
    return tuple(tuple(row) for row in rows) if matrix.ndim == 2 else tuple(rows)


def _view(session: Session, event: Mapping[str, Any]) -> Session:
    wanted = {name: event[name] for name in VIEW_FIELDS if name in event}
    for name, value in wanted.items():
        if not VIEW_FIELDS[name](value):
            raise ValueError(f"{name} cannot be {str(value)[:20]}")
    return replace(session, view=replace(session.view, **wanted).within(session.present))


def _look_of(event: Mapping[str, Any]) -> Look | None:
    array = event.get("array")
    if not isinstance(array, str) or len(array) > 20:
        return None
    block = event.get("block")
    if block is not None:
        a, b, c, d = (int(edge) for edge in block)
        return Look(array=array, block=(a, b, c, d))
    return Look(array=array, index=tuple(int(i) for i in event.get("index", ()))[:3])


def _look(session: Session, event: Mapping[str, Any]) -> Session:
    return replace(session, look=_look_of(event))


def _select(session: Session, event: Mapping[str, Any]) -> Session:
    look, view = _look_of(event), session.view
    if look is None:
        return session
    layer, x = session.present.build()
    chosen: dict[str, Any] = chosen_by(look, layer, x, position=view.position, expert=view.expert)
    if not chosen:
        return session
    return replace(session, look=look, view=replace(view, **chosen).within(session.present))


def _base(session: Session, event: Mapping[str, Any]) -> Session:
    name = event["name"]
    scenario: Looked | None = None
    if session.family == "shape":
        scenario = ShapeScenario(base=name) if name in MODELS else None
    elif (name in EXAMPLES or name in VARIANTS) and kind_of(
        example_called(name).ffn
    ).family == session.family:
        scenario = Scenario(base=name)
    if scenario is None:
        raise ValueError(f"there is no example {str(name)[:30]!r}")
    chosen = moved(session, scenario)
    kept = {name: getattr(session.view, name) for name in NOT_OF_THE_EXAMPLE}
    view = View(**kept)
    return replace(chosen, view=view.within(scenario), look=None, colours_of=None)


def _activation(session: Session, event: Mapping[str, Any]) -> Session:
    name = event["name"]
    if name not in ACTIVATIONS:
        raise ValueError(f"there is no nonlinearity {str(name)[:30]!r}")
    if session.family == "shape" or name == session.present.activation:
        return session
    return moved(session, session.present.with_activation(name))


def _reset(session: Session, event: Mapping[str, Any]) -> Session:
    return moved(session, _untouched(session.present)) if can_reset(session) else session


def _untouched(scenario: Looked) -> Looked:
    """The scenario's starting point, with its own nonlinearity."""
    return scenario.start() if isinstance(scenario, ShapeScenario) else Scenario(base=scenario.base)


def _insert(session: Session, event: Mapping[str, Any]) -> Session:
    at = int(event["at"])
    return replace(
        (after := edited(session, Edit("insert_position", (at,), f"token {at}"))),
        view=replace(after.view, position=at),
    )


def _remove(session: Session, event: Mapping[str, Any]) -> Session:
    return edited(session, Edit("remove_position", (int(event["at"]),), ""))


def _rename(session: Session, event: Mapping[str, Any]) -> Session:
    return edited(session, Edit("word", (int(event["at"]),), str(event["word"])))


def _fit(session: Session, event: Mapping[str, Any]) -> Session:
    return replace(session, colours_of=session.present if event["on"] is True else None)


def _kept(session: Session, event: Mapping[str, Any]) -> Session:
    """What the visitor's tab kept of a scenario that was too long for the link."""
    text = event.get("text")
    if session.wants is None or event.get("name") != session.wants:
        return session
    if not isinstance(text, str):
        told = (
            "This address stands for weights that are too many for a link. Only the tab in which they were made "
            "has them; open the file they were saved in instead."
        )
        return replace(session, wants=None, notices=(*session.notices, told))
    loaded = weight_files.load_json("this tab's copy", text.encode())
    scenario = session.present.holding(loaded.ffn, loaded.x, loaded.words)
    return replace(session, present=scenario, wants=None, view=session.view.within(scenario))


def _keep(session: Session, event: Mapping[str, Any]) -> Session:
    return replace(session, give="keep", gives=session.gives + 1)


def _file(session: Session, event: Mapping[str, Any]) -> Session:
    return replace(session, give="file", gives=session.gives + 1)


EVENTS: dict[str, Callable[[Session, Mapping[str, Any]], Session]] = {
    "edit": _edit,
    "paste": _paste,
    "undo": lambda session, _: undone(session),
    "redo": lambda session, _: redone(session),
    "reset": _reset,
    "view": _view,
    "look": _look,
    "select": _select,
    "base": _base,
    "activation": _activation,
    "insert": _insert,
    "remove": _remove,
    "rename": _rename,
    "seen": lambda session, _: replace(session, notices=()),
    "fit": _fit,
    "kept": _kept,
    "keep": _keep,
    "file": _file,
}


def apply(session: Session, event: Mapping[str, Any]) -> Session:
    """The session after one event. What cannot be done leaves it as it is, with the reason in `problem`."""
    try:
        return EVENTS[event["kind"]](session, event)
    except EditError as error:
        reason = str(error)
    except (KeyError, TypeError, OverflowError):
        reason = "That action could not be read; nothing was changed."
    except ValueError as error:
        reason = str(error)
    return replace(session, problem=reason, problem_number=session.problem_number + 1)


def receive(session: Session, message: Any) -> Session:
    """The session after all new events of a message from the browser.

    A session that does not know the client (the server was restarted, the page was loaded again) takes
    its events only if they were meant for the scenario that the address gave; else the browser, which
    sees that they were not applied, sends what is left again.
    """
    if not isinstance(message, Mapping) or not isinstance(message.get("events"), list):
        return session
    client = message.get("client")
    if not isinstance(client, str) or len(client) > 64:
        return session
    if client != session.client:
        if message.get("token") != token(session.present):
            return session
        session = replace(session, client=client, applied=0)
    page = session.family
    for event in message["events"]:
        if (
            isinstance(event, Mapping)
            and isinstance(event.get("seq"), int)
            and event["seq"] > session.applied
        ):
            # What was done just before another page was opened is meant for the page on which it was done.
            family = event.get("family")
            there = turned_to(session, cast(Family, family)) if family in STARTS else session
            session = turned_to(replace(apply(there, event), applied=event["seq"]), page)
    return session


def can_reset(session: Session) -> bool:
    """Whether there is anything that Reset would take back."""
    now = session.present
    if now.edits or isinstance(now, ShapeScenario):
        return bool(now.edits)
    return bool(now.activation != Scenario(base=now.base).activation)
