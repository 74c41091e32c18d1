"""The Weights page's tools: size, fill, open, save and paste, each a small pop-up above the board."""

from collections.abc import Callable

import streamlit as st
from streamlit.runtime.uploaded_file_manager import UploadedFile

from ffn_app.session import Session, family_of, placed
from ffn_app.shell import change, current, keep
from ffn_core import weight_files
from ffn_core.dense import Layout
from ffn_core.families import kind_of
from ffn_core.matrix_text import format_matrix, parse_matrix
from ffn_core.scenario import (
    ARRAYS,
    AXES,
    MAX_D_FF,
    MAX_D_MODEL,
    MAX_EDITED,
    MAX_POSITIONS,
    Edit,
    RandomBase,
    Scenario,
)

LABELS = {"x": "x", "w1": "W1", "b1": "b1", "w2": "W2", "b2": "b2"}


def weight_tools(session: Session) -> None:
    """Draw the row of tools."""
    with st.container(horizontal=True, gap="small"):
        with st.popover("Size"):
            _size(session)
        with st.popover("Fill"):
            _fill(session)
        with st.popover("Paste"):
            _paste()
        with st.popover("Open a file"):
            _open()
        with st.popover("Save to a file"):
            _save(session)


def _size(session: Session) -> None:
    ffn, _ = session.present.build()
    if ffn.d_model > MAX_EDITED["d_model"] or ffn.d_ff > MAX_EDITED["d_ff"]:
        st.write("This network is larger than the board edits cell by cell; it can be made smaller here.")
    for axis, width, what in (
        ("d_model", ffn.d_model, "the residual stream"),
        ("d_ff", ffn.d_ff, "the hidden layer"),
    ):
        most = max(MAX_EDITED[axis], width)
        key = f"size_{axis}_{width}"  # after undo or another example the box shows the width there now is
        st.number_input(
            f"{axis}, the width of {what} (1 to {most})",
            1,
            most,
            width,
            key=key,
            on_change=_resize,
            args=(axis, key),
        )
    st.caption("What fits is kept; new weights are 0.")
    st.divider()
    st.write("Or start from random weights of any size:")
    columns = st.columns(4)
    for column, (name, most, first) in zip(columns, _BASE_FIELDS, strict=True):
        column.number_input(name, 0 if name == "seed" else 1, most, first, key=f"base_{name}")
    st.button("Start from these", on_click=_start)


_BASE_FIELDS = (
    ("d_model", MAX_D_MODEL, 16),
    ("d_ff", MAX_D_FF, 64),
    ("positions", MAX_POSITIONS, 2),
    ("seed", 2**32 - 1, 0),
)


def _resize(axis: str, key: str) -> None:
    width = int(st.session_state[key])
    change(lambda scenario: scenario.edit(Edit(axis, (), width)))


def _start() -> None:
    # Read here, not when the button was drawn: what was typed just before the press counts.
    d_model, d_ff, positions, seed = (int(st.session_state[f"base_{name}"]) for name, _, _ in _BASE_FIELDS)
    change(
        lambda scenario: Scenario(
            base=RandomBase(d_model, d_ff, positions, seed), activation=scenario.activation
        )
    )


def _fill(session: Session) -> None:
    ffn, x = session.present.build()
    name = st.selectbox("Array", ARRAYS, index=1, format_func=LABELS.__getitem__, key="fill_array")
    st.number_input("Seed", 0, 2**32 - 1, 0, key="fill_seed", help="The same seed gives the same numbers.")
    array = x if name == "x" else getattr(ffn, name)
    square = array.ndim == 2 and array.shape[0] == array.shape[1]
    with st.container(horizontal=True):
        st.button("Randomize", on_click=_fill_with, args=("randomize",))
        st.button("All zero", on_click=_fill_with, args=("zero",))
        st.button("Identity", on_click=_fill_with, args=("identity",), disabled=not square)
    if not square:
        st.caption(
            f"{LABELS[name]} is {' by '.join(map(str, array.shape))}; only a square matrix can be the identity."
        )


def _fill_with(what: str) -> None:
    name, seed = st.session_state["fill_array"], int(st.session_state["fill_seed"])
    edits = {
        "randomize": Edit("randomize", (name,), seed),
        "zero": Edit(name, (), 0.0),
        "identity": Edit("identity", (name,), 1.0),
    }
    change(lambda scenario: scenario.edit(edits[what]))


def _paste() -> None:
    st.selectbox("Array", ARRAYS, index=1, format_func=LABELS.__getitem__, key="paste_array")
    st.text_area(
        "Numbers",
        key="paste_text",
        help="Rows on lines; columns with tabs, semicolons, commas or spaces; or [[1, 2], [3, 4]]. 1,5 is taken for 1.5 "
        "wherever commas do not separate. Cells can also be pasted right on the board.",
    )
    st.button("Put it into the array", on_click=_put)
    if told := st.session_state.get("paste_told"):
        st.error(told)


def _put() -> None:
    # Read here: pressing the button is what ends the typing.
    name, text = st.session_state["paste_array"], st.session_state["paste_text"]
    session = current()
    try:
        keep(placed(session, _with_array(session.present, name, parse_matrix(text))))
    except ValueError as error:
        st.session_state["paste_told"] = str(error)
    else:
        st.session_state["paste_told"] = ""
        st.toast(f"{LABELS[name]} now holds these numbers.")


def _with_array(scenario: Scenario, name: str, matrix: weight_files.Array) -> Scenario:
    """The scenario with a whole array replaced; it must have the array's shape."""
    ffn, x = scenario.build()
    array = x if name == "x" else getattr(ffn, name)
    values = matrix.ravel() if array.ndim == 1 and 1 in matrix.shape else matrix
    if values.shape != array.shape:
        axes = ", ".join(AXES[name])
        raise ValueError(
            f"{LABELS[name]} is [{axes}] = {list(array.shape)}, and these numbers are {list(values.shape)}; change the size "
            "first, or paste them on the board at the cell where they begin"
        )
    rows = values.tolist()
    return scenario.edit(
        Edit(name, (0,) * values.ndim, tuple(map(tuple, rows)) if values.ndim == 2 else tuple(rows))
    )


def _apply(edit: Callable[[Scenario], Scenario]) -> None:
    """Make a change from the page's own run; an error is shown here, beside its cause."""
    session = current()
    try:
        scenario = edit(session.present)
        keep(placed(session, scenario))
    except ValueError as error:
        st.error(str(error))
    else:
        here = family_of(scenario) == session.family
        st.toast(
            "Done: the board shows it. Undo takes it back." if here else "Done: it is open on its own page."
        )
        st.rerun()


def _open() -> None:
    file: UploadedFile | None = st.file_uploader(
        "JSON or .npz with a whole network; CSV, TSV or text with one array",
        type=["json", "npz", "csv", "tsv", "txt"],
    )
    if file is None:
        st.caption(
            "Matrices are stored (out, in): w1 is [d_ff, d_model] and w2 is [d_model, d_ff]. "
            "Nothing in a file is ever run, and it stays in this session."
        )
        return
    layout: Layout = (
        "in_out" if st.checkbox("The file stores its matrices (in, out), as GPT-2's do") else "out_in"
    )
    try:
        loaded = weight_files.load(file.name, file.getvalue(), layout)
    except ValueError as error:
        st.error(str(error))
        return
    if isinstance(loaded, weight_files.Loaded):
        sizes = kind_of(loaded.ffn).sizes(loaded.ffn)
        st.write(f"A network, d_model {sizes['d_model']} and d_ff {sizes['d_ff']}.")
        if st.button("Open it"):
            _apply(lambda scenario: _opened(scenario, loaded))
    else:
        st.write(f"A matrix, {loaded.shape[0]} by {loaded.shape[1]}.")
        name = st.selectbox("Put it into", ARRAYS, index=1, format_func=LABELS.__getitem__, key="open_array")
        if st.button("Put it there"):
            _apply(lambda scenario: _with_array(scenario, name, loaded))


def _opened(scenario: Scenario, loaded: weight_files.Loaded) -> Scenario:
    """The scenario holding a file's network; a large one, or another kind, starts from random weights of its size."""
    kind = kind_of(loaded.ffn)
    new, now = kind.sizes(loaded.ffn), scenario.kind.sizes(scenario.build()[0])
    n_positions = len(loaded.x) if loaded.x is not None else len(scenario.words)
    fits = kind is scenario.kind and all(
        new[axis] <= max(MAX_EDITED[axis], now[axis]) for axis in ("d_model", "d_ff")
    )
    if fits:
        start = scenario
    else:
        n_experts = new.get("n_experts", 0)
        base = RandomBase(new["d_model"], new["d_ff"], n_positions, 0, kind=kind.name, n_experts=n_experts)
        start = Scenario(base=base)
    return start.holding(loaded.ffn, loaded.x, loaded.words)


def _save(session: Session) -> None:
    ffn, x = session.present.build()
    words = session.present.words
    with st.container(horizontal=True):
        st.download_button(
            "JSON, everything", lambda: weight_files.save_json(ffn, x, words), "hourglass.json", "application/json",
            on_click="ignore",
        )  # fmt: skip
        st.download_button(
            "NumPy .npz, everything", lambda: weight_files.save_npz(ffn, x, words), "hourglass.npz",
            "application/octet-stream", on_click="ignore",
        )  # fmt: skip
    name = st.selectbox("One array", ARRAYS, index=1, format_func=LABELS.__getitem__, key="save_array")
    array = x if name == "x" else getattr(ffn, name)
    st.download_button(
        f"CSV of {LABELS[name]}",
        lambda: weight_files.save_csv(array),
        f"{name}.csv",
        "text/csv",
        on_click="ignore",
    )
    if array.size <= 2200:
        st.caption("The same, to copy into a spreadsheet:")
        st.code(format_matrix(array), language=None, height=120)


def note_size_change(session: Session) -> str | None:
    """A sentence on arrays that cannot be compared with the starting point, or None."""
    changed = [LABELS[name] for name, mask in session.present.changes().items() if mask is None]
    if not changed:
        return None
    return (
        f"{', '.join(changed)} changed size, and so cannot be compared with the starting point cell by cell."
    )
