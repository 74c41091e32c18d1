"""The other functions to write."""

# ruff: noqa: PLR0917  # the exercises give their functions so many arguments

import math

from tests.solutions import Solutions

HIDDEN = Solutions("hidden-layer")


@HIDDEN.right
def hidden_by_loops(x, W1, b1, D, H):
    hidden = []
    for i in range(H):
        total = 0
        for j in range(D):
            total += W1[i * D + j] * x[j]
        hidden.append(total + b1[i])
    return hidden


@HIDDEN.right
def hidden_by_slices(x, W1, b1, D, H):
    return [math.fsum(w * a for w, a in zip(W1[i * D : i * D + D], x, strict=True)) + b1[i] for i in range(H)]


@HIDDEN.right
def hidden_by_counting_on(x, W1, b1, D, H):
    hidden = list(b1)
    for at, weight in enumerate(W1):
        hidden[at // D] += weight * x[at % D]
    return hidden


@HIDDEN.wrong("stride", "rows of H numbers")
def hidden_stride(x, W1, b1, D, H):
    return [sum(W1[i * H + j] * x[j] for j in range(D)) + b1[i] for i in range(H)]


@HIDDEN.wrong("stride", "Every neuron got row 0 of W1")
def hidden_of_row_0(x, W1, b1, D, H):
    return [sum(W1[j] * x[j] for j in range(D)) + b1[i] for i in range(H)]


@HIDDEN.wrong("wrong-values", "A bias was subtracted")
def hidden_minus_bias(x, W1, b1, D, H):
    return [sum(W1[i * D + j] * x[j] for j in range(D)) - b1[i] for i in range(H)]


@HIDDEN.wrong("transposed", "W1 was read down its columns")
def hidden_transposed(x, W1, b1, D, H):
    return [sum(W1[j * H + i] * x[j] for j in range(D)) + b1[i] for i in range(H)]


@HIDDEN.wrong("missing-bias", "b1 was left out")
def hidden_without_bias(x, W1, b1, D, H):
    return [sum(W1[i * D + j] * x[j] for j in range(D)) for i in range(H)]


@HIDDEN.wrong("wrong-activation", "hidden is its argument")
def hidden_after_relu(x, W1, b1, D, H):
    return [max(0, value) for value in hidden_by_loops(x, W1, b1, D, H)]


@HIDDEN.wrong("wrong-values", "added with each product")
def hidden_bias_each_time(x, W1, b1, D, H):
    return [sum(W1[i * D + j] * x[j] + b1[i] for j in range(D)) for i in range(H)]


@HIDDEN.wrong("wrong-values", "goes on from the one before")
def hidden_sum_not_reset(x, W1, b1, D, H):
    total, hidden = 0, []
    for i in range(H):
        for j in range(D):
            total += W1[i * D + j] * x[j]
        hidden.append(total + b1[i])
    return hidden


@HIDDEN.wrong("wrong-values", "Only the last product")
def hidden_overwritten(x, W1, b1, D, H):
    return [W1[i * D + D - 1] * x[-1] + b1[i] for i in range(H)]


@HIDDEN.wrong("wrong-values", "The last product of each row is missing")
def hidden_too_short_a_loop(x, W1, b1, D, H):
    return [sum(W1[i * D + j] * x[j] for j in range(D - 1)) + b1[i] for i in range(H)]


@HIDDEN.wrong("only-square", "right where d_ff = d_model")
def hidden_for_d_neurons(x, W1, b1, D, H):
    return [sum(W1[i * D + j] * x[j] for j in range(D)) + b1[i] for i in range(D)]


@HIDDEN.wrong("mutates-input", "changed b1")
def hidden_in_the_bias(x, W1, b1, D, H):
    for at, weight in enumerate(W1):
        b1[at // D] += weight * x[at % D]
    return b1


@HIDDEN.wrong("returned-none", "end with return")
def hidden_printed(x, W1, b1, D, H):
    print(hidden_by_loops(x, W1, b1, D, H))


@HIDDEN.wrong("nested", "lists inside")
def hidden_products(x, W1, b1, D, H):
    return [[W1[i * D + j] * x[j] for j in range(D)] for i in range(H)]


GELU = Solutions("gelu")


def phi(z):
    return 0.5 * (1 + math.erf(z / math.sqrt(2)))


@GELU.right
def gelu_by_erf(z):
    return z * phi(z)


@GELU.right
def gelu_by_erfc(z):
    return z * 0.5 * math.erfc(-z * math.sqrt(0.5))


@GELU.right
def gelu_by_a_power_series(z):
    """Phi by its Taylor series where that is short, its limits beyond."""
    if abs(z) > 6:
        return max(0.0, z)
    term = total = z
    for n in range(1, 200):
        term *= -z * z / (2 * n)
        total += term / (2 * n + 1)
    return z * (0.5 + total / math.sqrt(2 * math.pi))


@GELU.wrong("gelu-form", "the tanh form")
def gelu_tanh(z):
    return 0.5 * z * (1 + math.tanh(math.sqrt(2 / math.pi) * (z + 0.044715 * z**3)))


@GELU.wrong("gelu-form", "the quick form")
def gelu_quick(z):
    return z / (1 + math.exp(-1.702 * z))


@GELU.wrong("wrong-activation", "The nonlinearity is ReLU")
def gelu_relu(z):
    return max(0, z)


@GELU.wrong("wrong-activation", "The nonlinearity is SiLU")
def gelu_silu(z):
    return z / (1 + math.exp(-z))


@GELU.wrong("wrong-activation", "This is Phi")
def gelu_phi(z):
    return phi(z)


@GELU.wrong("wrong-values", "factor 0.5 was left out")
def gelu_without_half(z):
    return z * (1 + math.erf(z / math.sqrt(2)))


@GELU.wrong("wrong-values", "erf was given z. It takes")
def gelu_without_root(z):
    return z * 0.5 * (1 + math.erf(z))


@GELU.wrong("wrong-values", "erf was given z / 2")
def gelu_half(z):
    return z * 0.5 * (1 + math.erf(z / 2))


@GELU.wrong("wrong-values", "erf was given z * sqrt(2)")
def gelu_root_times(z):
    return z * 0.5 * (1 + math.erf(z * math.sqrt(2)))


@GELU.wrong("wrong-values", "The 1 was left out")
def gelu_without_one(z):
    return z * 0.5 * math.erf(z / math.sqrt(2))


@GELU.wrong("wrong-values", "The sign is turned")
def gelu_mirrored(z):
    return z * phi(-z)


@GELU.wrong("nested", "Return the number itself")
def gelu_in_a_list(z):
    return [z * phi(z)]


@GELU.wrong("returned-none", "Printing")
def gelu_printed(z):
    print(z * phi(z))


@GELU.wrong("wrong-values", "is text")
def gelu_as_text(z):
    return str(z * phi(z))


@GELU.wrong("wrong-values", "do not round on the way")
def gelu_by_rounded_phi(z):
    return z * round(phi(z), 4)


GATED = Solutions("gated-ffn")


def silu(z):
    return z / (1 + math.exp(-z))


def times(W, v, n):
    return [sum(W[i * len(v) + j] * v[j] for j in range(len(v))) for i in range(n)]


def down(Wdown, activated, D):
    return times(Wdown, activated, D)


@GATED.right
def gated_by_loops(x, Wgate, Wup, Wdown, D, H):
    output = [0.0] * D
    for j in range(H):
        gate = up = 0.0
        for k in range(D):
            gate += Wgate[j * D + k] * x[k]
            up += Wup[j * D + k] * x[k]
        strength = gate / (1 + math.exp(-gate)) * up
        for i in range(D):
            output[i] += strength * Wdown[i * H + j]
    return output


@GATED.right
def gated_by_products(x, Wgate, Wup, Wdown, D, H):
    return down(Wdown, [silu(g) * u for g, u in zip(times(Wgate, x, H), times(Wup, x, H), strict=True)], D)


@GATED.right
def gated_by_tanh(x, Wgate, Wup, Wdown, D, H):
    gate, up = times(Wgate, x, H), times(Wup, x, H)
    return tuple(
        down(Wdown, [u * g * 0.5 * (1 + math.tanh(g / 2)) for g, u in zip(gate, up, strict=True)], D)
    )


def gated(code, says, make):
    """A wrong solution that differs only in what a neuron makes of its gate and its up."""

    @GATED.wrong(code, says)
    def solution(x, Wgate, Wup, Wdown, D, H):
        pairs = zip(times(Wgate, x, H), times(Wup, x, H), strict=True)
        return down(Wdown, [make(gate, up) for gate, up in pairs], D)


gated("wrong-activation", "did not go through SiLU", lambda g, u: g * u)
gated("wrong-activation", "applied to the up branch", lambda g, u: g * silu(u))
gated("wrong-activation", "applied to the product", lambda g, u: silu(g * u))
gated("wrong-activation", "applied to both branches", lambda g, u: silu(g) * silu(u))
gated("wrong-activation", "The nonlinearity is ReLU", lambda g, u: max(0, g) * u)
gated("wrong-activation", "The nonlinearity is sigmoid", lambda g, u: u / (1 + math.exp(-g)))
gated("wrong-activation", "The nonlinearity is GELU", lambda g, u: gelu_by_erf(g) * u)
gated("wrong-values", "branches were added", lambda g, u: silu(g) + u)
gated("wrong-values", "The up branch has no effect", lambda g, u: silu(g))
gated("wrong-values", "The gate has no effect", lambda g, u: u)


@GATED.wrong("stride", "Wgate and Wup were read with rows of H numbers")
def gated_other_stride(x, Wgate, Wup, Wdown, D, H):
    gate, up = ([sum(W[j * H + k] * x[k] for k in range(D)) for j in range(H)] for W in (Wgate, Wup))
    return down(Wdown, [silu(g) * u for g, u in zip(gate, up, strict=True)], D)


@GATED.wrong("stride", "The strides are exchanged")
def gated_strides_exchanged(x, Wgate, Wup, Wdown, D, H):
    gate, up = ([sum(map(float.__mul__, W[j * H : j * H + D], x)) for j in range(H)] for W in (Wgate, Wup))
    a = [silu(g) * u for g, u in zip(gate, up, strict=True)]
    return [sum(map(float.__mul__, Wdown[i * D : i * D + H], a)) for i in range(D)]


@GATED.wrong("transposed", "All three matrices")
def gated_all_transposed(x, Wgate, Wup, Wdown, D, H):
    gate, up = ([sum(W[k * H + j] * x[k] for k in range(D)) for j in range(H)] for W in (Wgate, Wup))
    a = [silu(g) * u for g, u in zip(gate, up, strict=True)]
    return [sum(Wdown[j * D + i] * a[j] for j in range(H)) for i in range(D)]


@GATED.wrong("stride", "Wdown was read with rows of D numbers")
def gated_one_stride(x, Wgate, Wup, Wdown, D, H):
    a = [silu(g) * u for g, u in zip(times(Wgate, x, H), times(Wup, x, H), strict=True)]
    return [sum(Wdown[i * D + j] * a[j] for j in range(H)) for i in range(D)]


@GATED.wrong("transposed", "Wdown was read down its columns")
def gated_down_transposed(x, Wgate, Wup, Wdown, D, H):
    a = [silu(g) * u for g, u in zip(times(Wgate, x, H), times(Wup, x, H), strict=True)]
    return [sum(Wdown[j * D + i] * a[j] for j in range(H)) for i in range(D)]


@GATED.wrong("transposed", "Wgate and Wup were read down")
def gated_in_transposed(x, Wgate, Wup, Wdown, D, H):
    gate = [sum(Wgate[k * H + j] * x[k] for k in range(D)) for j in range(H)]
    up = [sum(Wup[k * H + j] * x[k] for k in range(D)) for j in range(H)]
    return down(Wdown, [silu(g) * u for g, u in zip(gate, up, strict=True)], D)


@GATED.wrong("clamped-output", "Only the gate does")
def gated_clamped(x, Wgate, Wup, Wdown, D, H):
    return [max(0, y) for y in gated_by_loops(x, Wgate, Wup, Wdown, D, H)]


@GATED.wrong("wrong-values", "x was added")
def gated_residual(x, Wgate, Wup, Wdown, D, H):
    return [a + y for a, y in zip(x, gated_by_loops(x, Wgate, Wup, Wdown, D, H), strict=True)]


@GATED.wrong("only-square", "right where d_ff = d_model")
def gated_only_square(x, Wgate, Wup, Wdown, D, H):
    return gated_by_products(x, Wgate, Wup, Wdown, D, D)


@GATED.wrong("mutates-input", "changed x")
def gated_in_place(x, Wgate, Wup, Wdown, D, H):
    x[:] = gated_by_loops(x, Wgate, Wup, Wdown, D, H)
    return x


TOP2 = Solutions("top-2")


def best_two(logits):
    return sorted(range(len(logits)), key=lambda i: -logits[i])[:2]


def softmax(numbers):
    greatest = max(numbers)
    powers = [math.exp(number - greatest) for number in numbers]
    return [power / sum(powers) for power in powers]


def spread(chosen, shares, n):
    weights = [0.0] * n
    for expert, share in zip(chosen, shares, strict=True):
        weights[expert] = share
    return weights


@TOP2.right
def top2_by_sorting(logits):
    chosen = best_two(logits)
    return spread(chosen, softmax([logits[i] for i in chosen]), len(logits))


@TOP2.right
def top2_by_one_sigmoid(logits):
    first = max(range(len(logits)), key=lambda i: logits[i])
    second = max((i for i in range(len(logits)) if i != first), key=lambda i: logits[i])
    share = 1 / (1 + math.exp(logits[second] - logits[first]))
    return [share if i == first else 1 - share if i == second else 0 for i in range(len(logits))]


@TOP2.right
def top2_by_masking(logits):
    chosen = best_two(logits)
    return softmax([logit if i in chosen else -math.inf for i, logit in enumerate(logits)])


@TOP2.wrong("wrong-values", "shares of all experts")
def top2_not_renormalized(logits):
    chosen, probs = best_two(logits), softmax(logits)
    return spread(chosen, [probs[i] for i in chosen], len(logits))


@TOP2.wrong("wrong-values", "Every expert got a weight")
def top2_softmax(logits):
    return softmax(logits)


@TOP2.wrong("wrong-values", "Only one expert")
def top2_first_alone(logits):
    return spread(best_two(logits)[:1], [1.0], len(logits))


@TOP2.wrong("wrong-values", "Three experts got a weight")
def top2_three(logits):
    chosen = sorted(range(len(logits)), key=lambda i: -logits[i])[:3]
    return spread(chosen, softmax([logits[i] for i in chosen]), len(logits))


@TOP2.wrong("wrong-values", "The two smallest logits")
def top2_ascending(logits):
    chosen = sorted(range(len(logits)), key=lambda i: logits[i])[:2]
    return spread(chosen, softmax([logits[i] for i in chosen]), len(logits))


@TOP2.wrong("wrong-values", "the later one was chosen")
def top2_last_of_equals(logits):
    chosen = sorted(range(len(logits)), key=lambda i: (logits[i], i), reverse=True)[:2]
    return spread(chosen, softmax([logits[i] for i in chosen]), len(logits))


@TOP2.wrong("wrong-values", "The two weights are exchanged")
def top2_exchanged(logits):
    chosen = best_two(logits)
    return spread(chosen, softmax([-logits[i] for i in chosen]), len(logits))


@TOP2.wrong("wrong-values", "Both weights are 1/2")
def top2_halves(logits):
    return spread(best_two(logits), [0.5, 0.5], len(logits))


@TOP2.wrong("wrong-values", "A softmax takes exp")
def top2_without_exp(logits):
    chosen = best_two(logits)
    total = sum(logits[i] for i in chosen)
    return spread(chosen, [logits[i] / total for i in chosen], len(logits))


@TOP2.wrong("wrong-values", "the chosen logits themselves")
def top2_logits(logits):
    chosen = best_two(logits)
    return spread(chosen, [logits[i] for i in chosen], len(logits))


@TOP2.wrong("wrong-length", "has 2 numbers, and should have 4")
def top2_two_numbers(logits):
    return softmax([logits[i] for i in best_two(logits)])


@TOP2.wrong("error", "subtract the greatest")
def top2_overflow(logits):
    powers = [math.exp(logits[i]) for i in best_two(logits)]
    return spread(best_two(logits), [power / sum(powers) for power in powers], len(logits))


@TOP2.wrong("mutates-input", "changed logits")
def top2_sorts_in_place(logits):
    logits.sort(reverse=True)
    return [*softmax(logits[:2]), *[0.0] * (len(logits) - 2)]


@TOP2.wrong("nested", "lists inside")
def top2_pairs(logits):
    return [[i, weight] for i, weight in enumerate(top2_by_sorting(logits))]


BACKWARD = Solutions("ffn-backward")


def back(x, W1, b1, W2, b2, D, H, dy, **slip):
    """The backward pass, with one step of it replaced."""
    hidden = times(W1, x, H) if "no_b1" in slip else [h + b for h, b in zip(times(W1, x, H), b1, strict=True)]
    activated = slip.get("activated", lambda h: max(0.0, h))
    activated = [activated(h) for h in hidden]
    at_w2 = slip.get("at_w2", lambda i, j: i * H + j)
    d_activated = [sum(dy[i] * W2[at_w2(i, j)] for i in range(D)) for j in range(H)]
    passes = slip.get("passes", lambda h: h > 0)
    d_hidden = [d if passes(h) else 0.0 for d, h in zip(d_activated, hidden, strict=True)]
    at_w1 = slip.get("at_w1", lambda j, k: j * D + k)
    dx = [sum(d_hidden[j] * W1[at_w1(j, k)] for j in range(H)) for k in range(D)]
    dW1 = [d * a for d in d_hidden for a in x]
    dW2 = [d * a for d in dy for a in activated]
    return dx, dW1, d_activated if "db1_early" in slip else d_hidden, dW2, list(dy)


@BACKWARD.right
def backward_step_by_step(x, W1, b1, W2, b2, D, H, dy):
    return back(x, W1, b1, W2, b2, D, H, dy)


@BACKWARD.right
def backward_neuron_by_neuron(x, W1, b1, W2, b2, D, H, dy):
    dx, dW1, db1, dW2 = [0.0] * D, [0.0] * (H * D), [0.0] * H, [0.0] * (D * H)
    for j in range(H):
        key = W1[j * D : (j + 1) * D]
        hidden = b1[j] + sum(w * a for w, a in zip(key, x, strict=True))
        if hidden <= 0:
            continue
        for i in range(D):
            dW2[i * H + j] = dy[i] * hidden
            db1[j] += dy[i] * W2[i * H + j]
        for k in range(D):
            dW1[j * D + k] = db1[j] * x[k]
            dx[k] += db1[j] * key[k]
    return [dx, dW1, db1, dW2, dy[:]]


@BACKWARD.right
def backward_with_rows(x, W1, b1, W2, b2, D, H, dy):
    rows1 = [W1[j * D : j * D + D] for j in range(H)]
    columns2 = [W2[j::H] for j in range(H)]
    hidden = [
        math.fsum([*(w * a for w, a in zip(row, x, strict=True)), b])
        for row, b in zip(rows1, b1, strict=True)
    ]
    db1 = [(h > 0) * sum(map(float.__mul__, column, dy)) for h, column in zip(hidden, columns2, strict=True)]
    dx = [sum(d * row[k] for d, row in zip(db1, rows1, strict=True)) for k in range(D)]
    return dx, [d * a for d in db1 for a in x], db1, [d * max(h, 0) for d in dy for h in hidden], tuple(dy)


def backward(code, says, **slip):
    @BACKWARD.wrong(code, says)
    def solution(x, W1, b1, W2, b2, D, H, dy):
        made = {name: step(D, H) if name in ("at_w1", "at_w2") else step for name, step in slip.items()}
        return back(x, W1, b1, W2, b2, D, H, dy, **made)


backward("stride", "W2 was read with rows of D", at_w2=lambda D, H: lambda i, j: i * D + j)
backward("stride", "W1 was read with rows of H", at_w1=lambda D, H: lambda j, k: j * H + k)
backward("transposed", "W2 was read as if it were H by D", at_w2=lambda D, H: lambda i, j: j * D + i)
backward("transposed", "W1 was read as if it were D by H", at_w1=lambda D, H: lambda j, k: k * H + j)
backward("missing-bias", "without b1", no_b1=True)
backward("wrong-activation", "where hidden is not above 0, nothing comes back", passes=lambda h: True)
backward("wrong-activation", "the mask is hidden > 0, not >= 0", passes=lambda h: h >= 0)
backward("wrong-activation", "db1 was taken before", db1_early=True)
backward("wrong-activation", "dW2 was made with hidden", activated=float)


@BACKWARD.wrong("transposed", "dW1 is H by D")
def backward_outer_products_turned(x, W1, b1, W2, b2, D, H, dy):
    dx, _, db1, _, db2 = back(x, W1, b1, W2, b2, D, H, dy)
    activated = [max(0, h + b) for h, b in zip(times(W1, x, H), b1, strict=True)]
    return dx, [d * a for a in x for d in db1], db1, [d * a for a in activated for d in dy], db2


@BACKWARD.wrong("missing-bias", "gradient of a bias is missing")
def backward_without_biases(x, W1, b1, W2, b2, D, H, dy):
    dx, dW1, _, dW2, _ = back(x, W1, b1, W2, b2, D, H, dy)
    return dx, dW1, [0.0] * H, dW2, [0.0] * D


@BACKWARD.wrong("wrong-values", "dy was added to dx")
def backward_residual(x, W1, b1, W2, b2, D, H, dy):
    dx, *others = back(x, W1, b1, W2, b2, D, H, dy)
    return [a + d for a, d in zip(dx, dy, strict=True)], *others


@BACKWARD.wrong("wrong-values", "Every sign is turned")
def backward_negated(x, W1, b1, W2, b2, D, H, dy):
    return [[-number for number in part] for part in back(x, W1, b1, W2, b2, D, H, dy)]


@BACKWARD.wrong("wrong-values", "dx takes only one neuron")
def backward_overwrites(x, W1, b1, W2, b2, D, H, dy):
    _, dW1, db1, dW2, db2 = back(x, W1, b1, W2, b2, D, H, dy)
    return [db1[-1] * W1[(H - 1) * D + k] for k in range(D)], dW1, db1, dW2, db2


@BACKWARD.wrong("wrong-length", "Return 5 lists: dx, dW1, db1, dW2, db2. The result has 4 entries")
def backward_without_dx(x, W1, b1, W2, b2, D, H, dy):
    return back(x, W1, b1, W2, b2, D, H, dy)[1:]


@BACKWARD.wrong("nested", "dW1 has lists inside")
def backward_rows(x, W1, b1, W2, b2, D, H, dy):
    dx, dW1, db1, dW2, db2 = back(x, W1, b1, W2, b2, D, H, dy)
    return dx, [dW1[j * D : j * D + D] for j in range(H)], db1, dW2, db2


@BACKWARD.wrong("returned-none", "dx is None")
def backward_yet_without_dx(x, W1, b1, W2, b2, D, H, dy):
    return None, *back(x, W1, b1, W2, b2, D, H, dy)[1:]


@BACKWARD.wrong("mutates-input", "changed dy")
def backward_scales_dy(x, W1, b1, W2, b2, D, H, dy):
    for i in range(D):
        dy[i] *= 2
    return back(x, W1, b1, W2, b2, D, H, dy)
