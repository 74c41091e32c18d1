"""`ffn_forward(x, W1, b1, W2, b2, D, H)`, with ReLU and with GELU."""

# ruff: noqa: PLR0915, PLR0917  # the exercises give their functions so many arguments

import math

from tests.solutions import Solutions


def relu(z):
    return max(0.0, z)


def gelu(z):
    return z * 0.5 * (1 + math.erf(z / math.sqrt(2)))


def forward_pass(exercise, act):
    of = Solutions(exercise)

    @of.right
    def two_loops(x, W1, b1, W2, b2, D, H):
        hidden = []
        for i in range(H):
            total = b1[i]
            for j in range(D):
                total += W1[i * D + j] * x[j]
            hidden.append(act(total))
        output = []
        for i in range(D):
            total = b2[i]
            for j in range(H):
                total += W2[i * H + j] * hidden[j]
            output.append(total)
        return output

    @of.right
    def slices(x, W1, b1, W2, b2, D, H):
        def linear(W, b, v):
            n = len(v)
            return [
                sum(w * a for w, a in zip(W[i * n : i * n + n], v, strict=True)) + b[i] for i in range(len(b))
            ]

        return linear(W2, b2, list(map(act, linear(W1, b1, x))))

    @of.right
    def value_by_value(x, W1, b1, W2, b2, D, H):
        """Neuron by neuron: each adds its column of W2; a tuple, and sums in another order."""
        output = list(b2)
        for j, key in enumerate(zip(*[iter(W1)] * D, strict=True)):
            strength = act(math.fsum([b1[j], *(w * a for w, a in zip(key, x, strict=True))]))
            output = [o + strength * v for o, v in zip(output, W2[j::H], strict=True)]
        return tuple(output)

    def first(x, W1, b1, D, H, act=act):
        return [act(sum(W1[i * D + j] * x[j] for j in range(D)) + b1[i]) for i in range(H)]

    def second(a, W2, b2, D, H):
        return [sum(W2[i * H + j] * a[j] for j in range(H)) + b2[i] for i in range(D)]

    @of.wrong("stride", "rows of D numbers")
    def one_stride(x, W1, b1, W2, b2, D, H):
        a = first(x, W1, b1, D, H)
        return [sum(W2[i * D + j] * a[j] for j in range(H)) + b2[i] for i in range(D)]

    @of.wrong("stride", "rows of D numbers")
    def one_stride_with_slices(x, W1, b1, W2, b2, D, H):
        a = first(x, W1, b1, D, H)
        return [sum(w * v for w, v in zip(W2[i * D : i * D + H], a)) + b2[i] for i in range(D)]  # noqa: B905

    @of.wrong("stride", "rows of H numbers")
    def the_other_stride(x, W1, b1, W2, b2, D, H):
        a = [act(sum(W1[i * H + j] * x[j] for j in range(D)) + b1[i]) for i in range(H)]
        return second(a, W2, b2, D, H)

    @of.wrong("stride", "Row 0 of a matrix was taken for all")
    def row_0_of_w2(x, W1, b1, W2, b2, D, H):
        a = first(x, W1, b1, D, H)
        return [sum(W2[j] * a[j] for j in range(H)) + b2[i] for i in range(D)]

    @of.wrong("stride", "Row 0 of a matrix was taken for all")
    def row_0_of_w1(x, W1, b1, W2, b2, D, H):
        return second([act(sum(W1[j] * x[j] for j in range(D)) + b1[i]) for i in range(H)], W2, b2, D, H)

    @of.wrong("stride", "Row 0 of a matrix was taken for all")
    def row_0_of_both(x, W1, b1, W2, b2, D, H):
        a = [act(sum(W1[j] * x[j] for j in range(D)) + b1[i]) for i in range(H)]
        return [sum(W2[j] * a[j] for j in range(H)) + b2[i] for i in range(D)]

    @of.wrong("wrong-values", "A bias was subtracted")
    def minus_b1(x, W1, b1, W2, b2, D, H):
        return second(first(x, W1, [-b for b in b1], D, H), W2, b2, D, H)

    @of.wrong("wrong-values", "A bias was subtracted")
    def minus_both(x, W1, b1, W2, b2, D, H):
        return second(first(x, W1, [-b for b in b1], D, H), W2, [-b for b in b2], D, H)

    @of.wrong("wrong-values", "A bias was subtracted")
    def minus_b2(x, W1, b1, W2, b2, D, H):
        return second(first(x, W1, b1, D, H), W2, [-b for b in b2], D, H)

    @of.wrong("clamped-output", "The output went through the nonlinearity as well")
    def clamped(x, W1, b1, W2, b2, D, H):
        return [max(0.0, y) for y in second(first(x, W1, b1, D, H), W2, b2, D, H)]

    @of.wrong("clamped-output", "after W2 instead of between")
    def activation_last(x, W1, b1, W2, b2, D, H):
        return [act(y) for y in second(first(x, W1, b1, D, H, act=float), W2, b2, D, H)]

    @of.wrong("transposed", "Both matrices")
    def both_by_columns(x, W1, b1, W2, b2, D, H):
        a = [act(sum(W1[j * H + i] * x[j] for j in range(D)) + b1[i]) for i in range(H)]
        return [sum(W2[j * D + i] * a[j] for j in range(H)) + b2[i] for i in range(D)]

    @of.wrong("transposed", "W1 was read down its columns")
    def w1_by_columns(x, W1, b1, W2, b2, D, H):
        return second(
            [act(sum(W1[j * H + i] * x[j] for j in range(D)) + b1[i]) for i in range(H)], W2, b2, D, H
        )

    @of.wrong("transposed", "W2 was read down its columns")
    def w2_with_indices_exchanged(x, W1, b1, W2, b2, D, H):
        a = first(x, W1, b1, D, H)
        return [sum(W2[j * H + i] * a[j] for j in range(H)) + b2[i] for i in range(D)]

    @of.wrong("transposed", "Both matrices")
    def both_indices_exchanged(x, W1, b1, W2, b2, D, H):
        a = [act(sum(W1[j * H + i] * x[j] for j in range(D)) + b1[i]) for i in range(H)]
        return [sum(W2[j * H + i] * a[j] for j in range(H)) + b2[i] for i in range(D)]

    @of.wrong("missing-bias", "b1 was left out")
    def no_b1(x, W1, b1, W2, b2, D, H):
        return second(first(x, W1, [0] * H, D, H), W2, b2, D, H)

    @of.wrong("missing-bias", "b2 was left out")
    def no_b2(x, W1, b1, W2, b2, D, H):
        return second(first(x, W1, b1, D, H), W2, [0] * D, D, H)

    @of.wrong("missing-bias", "Both biases")
    def no_bias(x, W1, b1, W2, b2, D, H):
        return second(first(x, W1, [0] * H, D, H), W2, [0] * D, D, H)

    @of.wrong("wrong-activation", "no nonlinearity")
    def linear(x, W1, b1, W2, b2, D, H):
        return second(first(x, W1, b1, D, H, act=float), W2, b2, D, H)

    @of.wrong("wrong-activation", "b1 was added after")
    def bias_outside(x, W1, b1, W2, b2, D, H):
        a = [act(sum(W1[i * D + j] * x[j] for j in range(D))) + b1[i] for i in range(H)]
        return second(a, W2, b2, D, H)

    @of.wrong("wrong-activation", "applied to x")
    def activation_first(x, W1, b1, W2, b2, D, H):
        return second(first([act(v) for v in x], W1, b1, D, H, act=float), W2, b2, D, H)

    @of.wrong("wrong-activation", "The nonlinearity is tanh")
    def with_tanh(x, W1, b1, W2, b2, D, H):
        return second(first(x, W1, b1, D, H, act=math.tanh), W2, b2, D, H)

    @of.wrong("wrong-activation", "The nonlinearity is sigmoid")
    def with_sigmoid(x, W1, b1, W2, b2, D, H):
        return second(first(x, W1, b1, D, H, act=lambda z: 1 / (1 + math.exp(-z))), W2, b2, D, H)

    @of.wrong("wrong-activation", "not the one asked for")
    def with_a_leak(x, W1, b1, W2, b2, D, H):
        return second(first(x, W1, b1, D, H, act=lambda z: z if z > 0 else 0.01 * z), W2, b2, D, H)

    @of.wrong("wrong-activation", "not the one asked for")
    def min_for_max(x, W1, b1, W2, b2, D, H):
        return second(first(x, W1, b1, D, H, act=lambda z: min(0.0, z)), W2, b2, D, H)

    @of.wrong("mutates-input", "changed x")
    def writes_into_x(x, W1, b1, W2, b2, D, H):
        a = first(x, W1, b1, D, H)
        for i in range(D):
            x[i] = sum(W2[i * H + j] * a[j] for j in range(H)) + b2[i]
        return x

    @of.wrong("mutates-input", "changed b1 and b2")
    def sums_into_the_biases(x, W1, b1, W2, b2, D, H):
        for i in range(H):
            for j in range(D):
                b1[i] += W1[i * D + j] * x[j]
        for i in range(D):
            for j in range(H):
                b2[i] += W2[i * H + j] * act(b1[j])
        return list(b2)

    @of.wrong("returned-none", "Printing a result does not hand it back")
    def prints(x, W1, b1, W2, b2, D, H):
        print(second(first(x, W1, b1, D, H), W2, b2, D, H))

    @of.wrong("wrong-length", "has 3 numbers, and should have 2")
    def returns_the_hidden_layer(x, W1, b1, W2, b2, D, H):
        return first(x, W1, b1, D, H)

    @of.wrong("wrong-length", "has 3 numbers, and should have 2")
    def one_too_many(x, W1, b1, W2, b2, D, H):
        return [*second(first(x, W1, b1, D, H), W2, b2, D, H), 0.0]

    @of.wrong("wrong-length", "has 3 numbers, and should have 2")
    def as_long_as_the_wider_layer(x, W1, b1, W2, b2, D, H):
        output = second(first(x, W1, b1, D, H), W2, b2, D, H)
        return output + [0.0] * (H - D) if H > D else output[:H]

    @of.wrong("wrong-length", "is one number")
    def only_the_sum(x, W1, b1, W2, b2, D, H):
        return sum(second(first(x, W1, b1, D, H), W2, b2, D, H))

    @of.wrong("nested", "lists inside")
    def a_column(x, W1, b1, W2, b2, D, H):
        return [[y] for y in second(first(x, W1, b1, D, H), W2, b2, D, H)]

    @of.wrong("nested", "lists inside")
    def a_batch_of_one(x, W1, b1, W2, b2, D, H):
        return [second(first(x, W1, b1, D, H), W2, b2, D, H)]

    @of.wrong("non-finite", "infinite or NaN")
    def nan(x, W1, b1, W2, b2, D, H):
        return [y + math.inf - math.inf for y in second(first(x, W1, b1, D, H), W2, b2, D, H)]

    @of.wrong("only-square", "right where d_ff = d_model")
    def d_everywhere(x, W1, b1, W2, b2, D, H):
        a = [act(sum(W1[i * D + j] * x[j] for j in range(D)) + b1[i]) for i in range(D)]
        return [sum(W2[i * D + j] * a[j] for j in range(D)) + b2[i] for i in range(D)]

    @of.wrong("only-square", "right where d_ff = d_model")
    def h_everywhere(x, W1, b1, W2, b2, D, H):
        a = [act(sum(W1[i * H + j] * x[j] for j in range(H)) + b1[i]) for i in range(H)]
        return [sum(W2[i * H + j] * a[j] for j in range(H)) + b2[i] for i in range(H)]

    @of.wrong("only-square", "right where d_ff = d_model")
    def gives_up(x, W1, b1, W2, b2, D, H):
        return second(first(x, W1, b1, D, H), W2, b2, D, H) if D == H else [0.0] * D

    @of.wrong("only-square", "right where d_ff = d_model")
    def insists(x, W1, b1, W2, b2, D, H):
        assert D == H
        return second(first(x, W1, b1, D, H), W2, b2, D, H)

    @of.wrong("error", "The last line of the traceback")
    def divides_by_zero(x, W1, b1, W2, b2, D, H):
        return [y / 0 for y in x]

    @of.wrong("error", "beyond the end of a list")
    def reads_too_far(x, W1, b1, W2, b2, D, H):
        return second(first(x, W1, b1, D + 1, H), W2, b2, D, H)

    @of.wrong("error", "ended the program")
    def leaves(x, W1, b1, W2, b2, D, H):
        raise SystemExit

    @of.wrong("wrong-values", "x was added")
    def with_the_residual(x, W1, b1, W2, b2, D, H):
        return [a + y for a, y in zip(x, second(first(x, W1, b1, D, H), W2, b2, D, H), strict=True)]

    @of.wrong("wrong-values", "added with each product")
    def bias_in_the_inner_loop(x, W1, b1, W2, b2, D, H):
        a = [act(sum(W1[i * D + j] * x[j] + b1[i] for j in range(D))) for i in range(H)]
        return [sum(W2[i * H + j] * a[j] + b2[i] for j in range(H)) for i in range(D)]

    @of.wrong("wrong-values", "goes on from the one before")
    def sum_not_reset(x, W1, b1, W2, b2, D, H):
        a, total = [], 0.0
        for i in range(H):
            for j in range(D):
                total += W1[i * D + j] * x[j]
            a.append(act(total + b1[i]))
        return second(a, W2, b2, D, H)

    @of.wrong("wrong-values", "Only the last product")
    def overwrites(x, W1, b1, W2, b2, D, H):
        a = [act(W1[i * D + D - 1] * x[D - 1] + b1[i]) for i in range(H)]
        return [W2[i * H + H - 1] * a[H - 1] + b2[i] for i in range(D)]

    @of.wrong("wrong-values", "The last product of each row is missing")
    def ends_too_early(x, W1, b1, W2, b2, D, H):
        a = [act(sum(W1[i * D + j] * x[j] for j in range(D - 1)) + b1[i]) for i in range(H)]
        return [sum(W2[i * H + j] * a[j] for j in range(H - 1)) + b2[i] for i in range(D)]

    @of.wrong("wrong-values", "do not round on the way")
    def a_little_off(x, W1, b1, W2, b2, D, H):
        return [round(y + 2e-4, 4) for y in second(first(x, W1, b1, D, H), W2, b2, D, H)]

    @of.wrong("wrong-values", "is text, not a number")
    def formats(x, W1, b1, W2, b2, D, H):
        return [f"{y:.2f}" for y in second(first(x, W1, b1, D, H), W2, b2, D, H)]

    @of.wrong("wrong-values", "The numbers are not right")
    def all_zeros(x, W1, b1, W2, b2, D, H):
        return [0.0] * D

    @of.wrong("wrong-values", "list(...) makes a list of it")
    def lazy(x, W1, b1, W2, b2, D, H):
        return map(float, second(first(x, W1, b1, D, H), W2, b2, D, H))

    def another(code, says, other):
        @of.wrong(code, says)
        def with_another_nonlinearity(x, W1, b1, W2, b2, D, H):
            return second(first(x, W1, b1, D, H, act=other), W2, b2, D, H)

    forms = {
        "The nonlinearity is GELU": gelu,
        "The nonlinearity is ReLU": relu,
        "The nonlinearity is SiLU": lambda z: z / (1 + math.exp(-z)),
    }
    for says, other in forms.items():
        if other is not act:
            another("wrong-activation", says, other)
    if act is gelu:
        another(
            "gelu-form",
            "the tanh form",
            lambda z: 0.5 * z * (1 + math.tanh(math.sqrt(2 / math.pi) * (z + 0.044715 * z**3))),
        )
        another("gelu-form", "the quick form", lambda z: z / (1 + math.exp(-1.702 * z)))
    return of


FORWARD = forward_pass("ffn-forward", relu)
FORWARD_GELU = forward_pass("ffn-forward-gelu", gelu)
