"""Networks that are set: the edits of right ones, and those of wrong ones with words of what must be said."""

from typing import Any

from ffn_core.scenario import Scenario

RIGHT: dict[str, Any] = {
    "fires-for-cat": [
        [("w1", (2, 1), 1.0)],
        [("w1", (2, 3), 1.0), ("b1", (2,), -0.5)],
        [("w1", (2, 0), ((-1.0, 0.0, -1.0, 1.0, 0.0, 0.0, 0.0, 0.0),))],
    ],
    "write-a-value": [
        [("w2", (1, 1), 1.5)],
        [("w2", (0, 1), 9.0), ("w2", (0, 1), 0.0), ("w2", (1, 1), 1.5)],
        [("w2", (0, 0), ((1.0, 0.0), (0.0, 1.5)))],
    ],
    "dead-neuron": [
        [("b1", (1,), -1.0)],
        [("w1", (1, 0), ((0.0,) * 4,))],
        [("w1", (1, 0), -5.0), ("b1", (1,), -0.1)],
    ],
    "and-gate": [
        [("b1", (0,), -3.0)],
        [("b1", (0,), -2.0), ("w2", (2, 0), 0.5)],
        [("b1", (0,), -3.5), ("w2", (2, 0), 2.0)],
    ],
    "not-gate": [
        [("w1", (0, 0), ((-1.0, 0.0, 0.0),)), ("b1", (0,), 1.0)],
        [("w1", (0, 0), ((1.0, 0.0, 0.0),)), ("w2", (2, 0), -1.0), ("b2", (2,), 1.0)],
        [("w1", (0, 0), ((-2.0, 0.0, 5.0),)), ("b1", (0,), 2.0), ("w2", (2, 0), 0.5)],
    ],
    "silent-network": [
        [("w2", (), 0.0), ("b2", (), 0.0)],
        [("together", (), (("w2", (), 0.0), ("b2", (), 0.0), ("b1", (), 3.0)))],
        [*(("w2", (i, 0), ((0.0,) * 8,)) for i in range(4)), *(("b2", (i,), 0.0) for i in range(4))],
    ],
    "copy-through-relu": [
        [
            ("w1", (0, 0), ((1.0, 0.0), (-1.0, 0.0), (0.0, 1.0), (0.0, -1.0))),
            ("w2", (0, 0), ((1.0, -1.0, 0.0, 0.0), (0.0, 0.0, 1.0, -1.0))),
        ],
        [
            ("w1", (0, 0), ((2.0, 0.0), (0.0, 2.0), (-2.0, 0.0), (0.0, -2.0))),
            ("w2", (0, 0), ((0.5, 0.0, -0.5, 0.0), (0.0, 0.5, 0.0, -0.5))),
        ],
        [  # with the edges away from 0
            ("w1", (0, 0), ((1.0, 0.0), (-3.0, 0.0), (0.0, 0.1), (0.0, -1.0))),
            ("b1", (), 1.0),
            ("b1", (1,), -3.0),
            ("b1", (3,), -10.0),
            ("w2", (0, 0), ((1.0, -1 / 3, 0.0, 0.0), (0.0, 0.0, 10.0, -1.0))),
            ("b2", (0,), -1.0),
            ("b2", (1,), -10.0),
        ],
        [  # along the diagonals
            ("w1", (0, 0), ((1.0, 1.0), (-1.0, -1.0), (1.0, -1.0), (-1.0, 1.0))),
            ("w2", (0, 0), ((0.5, -0.5, 0.5, -0.5), (0.5, -0.5, -0.5, 0.5))),
        ],
    ],
}

WRONG: dict[str, Any] = {
    "fires-for-cat": [
        ([], "does not fire for “cat” yet"),
        ([("w1", (2, 3), 1.0)], "also fires for “sat” with 0.4"),
        ([("w1", (2, 4), 1.0)], "also fires for “The” with 0.9"),
        ([("w1", (2, 0), 1.0)], "Neuron 2 fires for “The” with 1"),
        ([("b1", (2,), 1.0)], "also fires for “The” with 1 and “sat” with 1"),
        ([("w1", (2, 1), 0.05)], "fires for “cat” with only 0.05"),
        ([("w1", (2, 1), 1.0), ("w1", (4, 1), 1.0)], "Neuron 4 has another w1"),
        ([("w1", (2, 1), 1.0), ("b1", (0,), -1.0)], "Neuron 0 has another b1"),
        ([("w1", (2, 1), 1.0), ("x", (0, 0), 0.0)], "Leave x as it was"),
        ([("w1", (2, 1), 1.0), ("word", (0,), "A")], "Leave the words"),
        ([("w1", (2, 1), 1.0), ("strength", (2,), 2.0)], "held by an intervention"),
        ([("w1", (2, 1), 1.0), ("w2", (0, 0), 1.0)], "Leave w2 as it was. Here you may change w1 and b1"),
    ],
    "write-a-value": [
        ([], "output[1] is 2, as before"),
        ([("w2", (1, 1), 3.0)], "output[1] is 6: neuron 1 fires with 2"),
        ([("w2", (1, 1), -1.5)], "the value needs a plus"),
        ([("w2", (0, 1), 1.5)], "output[0] is 3 now"),
        ([("w2", (1, 0), 3.0)], "output[1] is 2, as before"),
        ([("w2", (1, 1), 1.0), ("w2", (1, 1), 1.25)], "output[1] is 2.5, and should be 3"),
        ([("w2", (1, 1), 1.5), ("w2", (1, 0), 1.0)], "The value of neuron 0 has changed"),
        ([("b2", (1,), 1.0)], "Leave b2 as it was"),
        ([("strength", (1,), 1.5)], "held by an intervention"),
        ([("x", (0, 0), 2.0)], "Leave x as it was"),
        ([("w2", (1, 1), 1.5), ("d_ff", (), 3)], "w1 has another size now, [3, 2] instead of [2, 2]"),
    ],
    "dead-neuron": [
        ([], "still fires at “token 0”, with 0.37"),
        ([("b1", (1,), -0.3)], "still fires at “token 0”, with 0.07"),
        ([("w1", (1, 0), -1.0)], "still fires at “token 1”, with 0.03"),
        ([("b1", (2,), -1.0)], "still fires at “token 0”, with 0.37"),
        ([("b1", (), -1.0)], "Neuron 0 has changed as well"),
        ([("b1", (1,), -1.0), ("w1", (3, 0), 0.0)], "Neuron 3 has changed as well"),
        ([("w2", (0, 1), 0.0)], "Leave w2 as it was"),
        ([("x", (), 0.0)], "Leave x as it was"),
        ([("strength", (1,), 0.0)], "held by an intervention"),
        ([("d_ff", (), 4)], "w1 has another size now"),
    ],
    "and-gate": [
        ([], "1 of 4 are right"),
        ([("b1", (0,), -4.0)], "3 of 4 are right: “1 1” gives 0 instead of 1"),
        ([("b1", (0,), -2.5)], "“1 1” gives 1.5 instead of 1"),
        ([("b1", (0,), -3.5)], "“1 1” gives 0.5 instead of 1"),
        ([("b1", (0,), 1.0)], "“0 0” gives 1 instead of 0"),
        ([("b1", (0,), -1.0)], "1 of 4 are right: “0 1” gives 1 instead of 0"),
        ([("b2", (2,), -1.0)], "“0 0” gives −1 instead of 0"),
        ([("b1", (0,), -3.0), ("w2", (0, 0), 1.0)], "At “1 1” coordinate 0 gets 1"),
        ([("b1", (0,), -3.0), ("b2", (1,), 1.0)], "At “0 0” coordinate 1 gets 1"),
        ([("w1", (0, 0), ((1.0, 1.0, 0.0),)), ("b1", (0,), -1.0)], "Leave w1 as it was"),
        ([("b1", (0,), -3.0), ("x", (3, 0), 0.0)], "Leave x as it was"),
        ([("b1", (0,), -3.0), ("d_ff", (), 2)], "w1 has another size now"),
    ],
    "not-gate": [
        ([], "1 of 4 are right"),
        ([("b1", (0,), -1.0)], "“0 0” gives 0 instead of 1"),
        ([("w1", (0, 0), -1.0), ("b1", (0,), 1.0)], "“0 1” gives 2 instead of 1"),
        ([("w1", (0, 0), ((0.0, -1.0, 0.0),)), ("b1", (0,), 1.0)], "“1 0” gives 1 instead of 0"),
        (
            [("w1", (0, 0), ((-1.0, 0.0, 0.0),))],
            "2 of 4 are right: “0 0” gives 0 instead of 1, “0 1” gives 0",
        ),
        ([("w1", (0, 0), ((-1.0, 0.0, 0.0),)), ("b1", (0,), 2.0)], "“1 0” gives 1 instead of 0"),
        (
            [("w1", (0, 0), ((-1.0, 0.0, 0.0),)), ("b1", (0,), 1.0), ("w2", (2, 0), -1.0)],
            "gives −1 instead of 1",
        ),
        ([("w2", (2, 0), 0.0), ("b2", (2,), 1.0)], "2 of 4 are right: “1 0” gives 1 instead of 0"),
        ([("w2", (1, 0), 1.0)], "coordinate 1 gets 1"),
        ([("strength", (0,), -1.0)], "held by an intervention"),
    ],
    "silent-network": [
        ([], "The output still depends on x"),
        ([("w2", (), 0.0)], "no longer depends on x, but output[0] is always 0.5"),
        ([("b2", (), 0.0)], "The output still depends on x"),
        ([("b1", (), -5.0), ("b2", (), 0.0)], "It is 0 for the two positions here, but not for every x"),
        ([("w2", (), 0.0), ("b2", (), 0.0), ("b2", (3,), -0.5)], "output[3] is always −0.5"),
        (
            [("w2", (0, 0), ((0.0,) * 8,)), ("b2", (), 0.0)],
            "Of the coordinates 0 is 0 for each x that was tried",
        ),
        ([("b1", (), -10_000.0), ("b2", (), 0.0)], "not for every x: the value of neuron 0 is not 0"),
        ([("b1", (), -1e30), ("b2", (), 0.0)], "not for every x: the value of neuron 0 is not 0"),
        ([("b1", (), -10_000.0)], "For each x that was tried the output is the same, and not yet 0"),
        ([("w2", (), 1e-15), ("b2", (), 0.0)], "the value of neuron 0 is not 0"),
        ([("w2", (), 0.0), ("b2", (), 1e-10)], "no longer depends on x, but output[0] is always 1e−10"),
        ([("w1", (), 0.0), ("b2", (), 0.0)], "Leave w1 as it was"),
        ([("x", (), 0.0)], "Leave x as it was"),
        ([("b2", (), 0.0), *(("strength", (j,), 0.0) for j in range(8))], "held by an intervention"),
        ([("d_ff", (), 1), ("w2", (), 0.0), ("b2", (), 0.0)], "has another size"),
    ],
    "copy-through-relu": [
        *(
            (
                [
                    ("w1", (0, 0), ((1.0, 0.0), (0.0, 1.0))),
                    ("w2", (0, 0), ((1.0, 0.0), (0.0, 1.0))),
                    *(("b1", (j,), far) for j in (0, 1)),
                    ("b2", (), -far),
                ],
                f"not for every x: neuron 0 begins to fire at x = [−{far_text}, 0]",
            )
            for far, far_text in ((10_000.0, "1e4"), (2.0**20, "1.05e6"))
        ),
        ([], "Not yet: for x = [1, 0] the output is [0, 0]"),
        (
            [("w1", (0, 0), ((1.0, 0.0), (0.0, 1.0))), ("w2", (0, 0), ((1.0, 0.0), (0.0, 1.0)))],
            "Right where no coordinate is negative, but for x = [−1, 0] the output is [0, 0]",
        ),
        (
            [("w1", (0, 0), ((1.0, 0.0), (-1.0, 0.0))), ("w2", (0, 0), ((1.0, -1.0),))],
            "Coordinate 0 is right for each x that was tried, the other is not yet: for x = [0, 1]",
        ),
        (
            [("w1", (0, 0), ((0.0, 1.0), (0.0, -1.0))), ("w2", (1, 0), ((1.0, -1.0),))],
            "Coordinate 1 is right for each x that was tried, the other is not yet: for x = [1, 0]",
        ),
        (
            [*RIGHT["copy-through-relu"][0], ("w2", (0, 1), 1.0)],
            "Coordinate 1 is right for each x that was tried",
        ),
        ([*RIGHT["copy-through-relu"][0], ("b2", (0,), 1.0)], "At x = [0, 0] the output is [1, 0]"),
        (
            [*RIGHT["copy-through-relu"][0], ("b1", (), 1.0), ("b1", (0,), 0.0)],
            "At x = [0, 0] the output is [−1, 0]",
        ),
        ([*RIGHT["copy-through-relu"][0], ("w2", (), 1.0)], "Not yet: for x = [1, 0] the output is [1, 1]"),
        ([*RIGHT["copy-through-relu"][0], ("x", (0, 0), 0.0)], "Leave x as it was"),
        (
            [*RIGHT["copy-through-relu"][0], ("d_ff", (), 5)],
            "w1 has another size now, [5, 2] instead of [4, 2]",
        ),
    ],
}

OTHER_GROUND = [
    (Scenario(base="experts"), "This is another network"),
    (Scenario(base="random"), "This is another network"),
]
